"""A data set as input of the analyses of a dual encoder: its present rows, as tensors."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.analysis.concept_space import ConceptSpace
from vtr_core.analysis.pair_sets import drawn_captions
from vtr_core.analysis.transforms import ConceptSimilarity
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.similarity import cosine
from vtr_core.systems.dual.rows import DualRows


@dataclass(frozen=True)
class AnalysedSet:
    """Captions with an in-vocabulary word and a video with frames, and all videos with frames.

    `left_out` is the number of other captions and videos: `vtr evaluate` counts them as failures, analyses ignore them.
    """

    name: str
    latent_text: Float[Tensor, "captions dim"] | None
    latent_video: Float[Tensor, "videos dim"] | None
    concept_text: Float[Tensor, "captions concepts"] | None
    concept_video: Float[Tensor, "videos concepts"] | None
    caption_video: Int64[Tensor, " captions"]
    caption_key: Int64[np.ndarray, " captions"]
    video_key: Int64[np.ndarray, " videos"]
    left_out: int

    @cached_property
    def latent_scores(self) -> Float[Tensor, "captions videos"] | None:
        """The cosines in latent space, where the model has one."""
        if self.latent_text is None or self.latent_video is None:
            return None
        return cosine(self.latent_text, self.latent_video)

    def concept_space(self, similarity: ConceptSimilarity) -> ConceptSpace:
        """The concept scores; CheckpointError for a model without them."""
        if self.concept_text is None or self.concept_video is None:
            raise CheckpointError(
                "the checkpoint is of a model without a concept space, so no concept has a part in its decisions; "
                "give one that was trained with model.num_concepts"
            )
        return ConceptSpace(self.concept_text, self.concept_video, self.caption_video, similarity)

    def few_captions(self, most: int, seed: int) -> "AnalysedSet":
        """At most `most` captions of each video, sampled with `seed`; all videos are kept."""
        kept = drawn_captions(self.caption_video, len(self.video_key), most, seed)
        return self._captions(kept)

    def with_captions_of(self, other: "AnalysedSet") -> "AnalysedSet":
        """Only the captions that `other` also has; DatasetError where the two have different videos."""
        if not np.array_equal(self.video_key, other.video_key):
            raise DatasetError(f"{self.name} and {other.name} do not have the same videos with frames")
        return self._captions(torch.from_numpy(np.flatnonzero(np.isin(self.caption_key, other.caption_key))))

    def _captions(self, kept: Int64[Tensor, " kept"]) -> "AnalysedSet":
        return replace(
            self,
            latent_text=None if self.latent_text is None else self.latent_text[kept],
            concept_text=None if self.concept_text is None else self.concept_text[kept],
            caption_video=self.caption_video[kept],
            caption_key=self.caption_key[kept.numpy()],
        )


def analysed_set(name: str, rows: DualRows) -> AnalysedSet:
    """The rows of a data set that an analysis can use; DatasetError if there are none."""
    videos = np.flatnonzero(rows.video_present)
    captions = np.flatnonzero(rows.text_present & rows.video_present[rows.caption_video])
    if not len(captions):
        raise DatasetError(f"{name}: no caption with a known word belongs to a video with frames; nothing to analyse")
    place = np.full(len(rows.video_present), -1)
    place[videos] = np.arange(len(videos))
    return AnalysedSet(
        name=name,
        latent_text=_rows(rows.latent_text, captions),
        latent_video=_rows(rows.latent_video, videos),
        concept_text=_rows(rows.concept_text, captions),
        concept_video=_rows(rows.concept_video, videos),
        caption_video=torch.from_numpy(place[rows.caption_video[captions]]),
        caption_key=rows.caption_key[captions],
        video_key=rows.video_key[videos],
        left_out=len(rows.captions) - len(captions) + len(rows.video_id) - len(videos),
    )


def _rows(values: np.ndarray | None, kept: np.ndarray) -> Tensor | None:
    return None if values is None else torch.from_numpy(values[kept])
