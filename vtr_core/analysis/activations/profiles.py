"""The concept profile of every capsule: mutual information between its activity and each concept, with q-values."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64, Int64

from vtr_core.analysis.activations.concepts import ClipConcepts
from vtr_core.analysis.activations.information import is_active, joint_counts, lift, mutual_information
from vtr_core.analysis.activations.significance import adjusted, exact_p_values


@dataclass(frozen=True)
class ConceptProfiles:
    """The profiles over all concepts and capsules, for one modality of one data set."""

    words: tuple[str, ...]
    clips: int
    named: Int64[np.ndarray, " words"]
    """Clips that name the concept."""
    information: Float64[np.ndarray, "words capsules"]
    """Mutual information in bits."""
    lift: Float64[np.ndarray, "words capsules"]
    p: Float64[np.ndarray, "words capsules"]
    q: Float64[np.ndarray, "words capsules"]
    """The p-values, adjusted over all concepts and capsules."""

    @property
    def signed(self) -> Float64[np.ndarray, "words capsules"]:
        """The mutual information, negative where capsule and concept are negatively associated."""
        return np.where(self.lift < 1, -self.information, self.information)

    def strongest(self, capsule: int, false_discoveries: float, with_it: bool) -> list[int]:
        """The concepts with a significant positive (or negative) association, by descending information, then the word.

        Significant: q ≤ `false_discoveries`.
        """
        q, lifts, information = self.q[:, capsule], self.lift[:, capsule], self.information[:, capsule]
        direction = lifts > 1 if with_it else lifts < 1
        found = np.flatnonzero((q <= false_discoveries) & direction)
        return sorted(found.tolist(), key=lambda word: (-information[word], self.words[word]))


def concept_profiles(
    activations: Float32[np.ndarray, "clips capsules"], concepts: ClipConcepts, active_share: float
) -> ConceptProfiles:
    """The profiles of all capsules; the rows of `activations` are the clips of `concepts`."""
    active = is_active(activations, active_share)
    joint = joint_counts(concepts, active)
    named = concepts.named.sum(axis=0)
    counts = (joint, named, active.sum(axis=0).astype(np.int64), len(activations))
    p = exact_p_values(*counts)
    return ConceptProfiles(
        words=concepts.words,
        clips=len(activations),
        named=named,
        information=mutual_information(*counts),
        lift=lift(*counts),
        p=p,
        q=adjusted(p),
    )
