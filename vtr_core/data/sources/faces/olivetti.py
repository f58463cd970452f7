"""The AT&T faces as scikit-learn delivers them: 40 subjects, 10 images of 64 × 64 grey each."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from vtr_core.data.records.face_pairs import PairList
from vtr_core.data.sources.faces.scikit_learn import fetched
from vtr_core.data.sources.faces.subjects import SubjectSplits
from vtr_core.data.sources.source import Drops, FaceImage, VideoEntry

SIDE, SUBJECTS = 64, 40


class Olivetti(SubjectSplits):
    """Subjects s1 … s40, images 1 … 10 of each in scikit-learn's order, values in [0, 1] as whole numbers up to 255."""

    name: ClassVar[str] = "olivetti"

    cache: str | None = None
    """scikit-learn's data folder, where the download is kept (default: its own)."""

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002
        """The subjects; `VideoEntry.content` are the rows of their images."""
        rows: dict[str, list[int]] = {}
        for row, subject in enumerate(self._faces.target.tolist()):
            rows.setdefault(f"s{subject + 1}", []).append(row)
        return self.entries(rows, "the Olivetti faces")

    def shape(self) -> tuple[int, int, int]:
        """64 × 64, grey."""
        return SIDE, SIDE, 1

    def images(self, subject: VideoEntry) -> Iterator[FaceImage]:
        """The subject's images."""
        for number, row in enumerate(subject.content, start=1):
            values = np.rint(255 * self._faces.images[row]).astype(np.uint8)
            yield FaceImage(f"{subject.video_id}/{number}", values[:, :, None])

    def pairs(self, subjects: Sequence[VideoEntry]) -> PairList:
        """A balanced list, drawn with `pair_seed`."""
        return self.drawn({s.video_id: [f"{s.video_id}/{i + 1}" for i in range(len(s.content))] for s in subjects})

    @cached_property
    def _faces(self) -> Any:
        return fetched(lambda data: data.fetch_olivetti_faces(data_home=self.cache), "the Olivetti faces")
