"""Sample of clips from a streamed data set, from which capsules' concepts are estimated."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, UInt64

from vtr_core.analysis.activations.sampling import lowest


@dataclass(frozen=True)
class ClipSample:
    """Sampled clips: priority, caption words, and activations by modality."""

    priority: UInt64[np.ndarray, " sample"]
    video_key: Int64[np.ndarray, " sample"]
    words: tuple[frozenset[str], ...]
    present: dict[str, np.ndarray]
    activations: dict[str, np.ndarray]

    @classmethod
    def joined(cls, parts: Sequence["ClipSample"]) -> "ClipSample":
        """The clips of all parts, in order."""
        return cls(
            np.concatenate([part.priority for part in parts]),
            np.concatenate([part.video_key for part in parts]),
            tuple(words for part in parts for words in part.words),
            {name: np.concatenate([part.present[name] for part in parts]) for name in parts[0].present},
            {name: np.concatenate([part.activations[name] for part in parts]) for name in parts[0].activations},
        )

    def lowest(self, count: int) -> "ClipSample":
        """The `count` clips with the lowest priorities, in unchanged order."""
        if len(self.priority) <= count:
            return self
        kept = lowest(self.priority, count)
        return ClipSample(
            self.priority[kept],
            self.video_key[kept],
            tuple(self.words[i] for i in kept),
            {name: has[kept] for name, has in self.present.items()},
            {name: values[kept] for name, values in self.activations.items()},
        )
