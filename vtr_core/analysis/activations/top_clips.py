"""The clips with the highest activation of each capsule, updated batch by batch."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

NOBODY = -1
"""The clip number of an empty slot."""


@dataclass(frozen=True)
class TopClips:
    """The strongest clips of each capsule so far, in descending order: row numbers and activations."""

    clip: Int64[np.ndarray, "places capsules"]
    activation: Float32[np.ndarray, "places capsules"]

    @classmethod
    def empty(cls, places: int, capsules: int) -> "TopClips":
        """An instance without clips, with `places` slots for each capsule."""
        return cls(np.full((places, capsules), NOBODY, np.int64), np.full((places, capsules), -np.inf, np.float32))

    def with_clips(
        self, clip: Int64[np.ndarray, " clips"], activation: Float32[np.ndarray, "clips capsules"]
    ) -> "TopClips":
        """The strongest clips among these and a later batch; of equal activations the earlier clip stays ahead.

        Each clip must be given once. Activations must be finite.
        """
        places = len(self.clip)
        clips = np.concatenate([self.clip, np.broadcast_to(clip[:, None], activation.shape)])
        values = np.concatenate([self.activation, activation])
        order = np.argsort(-values, axis=0, kind="stable")[:places]
        return TopClips(np.take_along_axis(clips, order, axis=0), np.take_along_axis(values, order, axis=0))

    def of(self, capsule: int) -> list[tuple[int, float]]:
        """(clip number, activation) of a capsule's strongest clips."""
        found = self.clip[:, capsule] != NOBODY
        return list(zip(self.clip[found, capsule].tolist(), self.activation[found, capsule].tolist(), strict=True))

    @property
    def numbers(self) -> set[int]:
        """All clips among the strongest of some capsule."""
        return set(self.clip[self.clip != NOBODY].tolist())
