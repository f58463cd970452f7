"""Settings of all sources of faces: held-out subjects and pair lists."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vtr_core.config.settings import PositiveInt, SourceSettings
from vtr_core.data.records.face_pairs import PairList, draw_pairs
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.source import VideoEntry
from vtr_core.errors import ConfigError, InputError

FEWEST_SUBJECTS = 6
"""Minimum number of subjects: five are held out in the AT&T protocol, and training needs one."""


class FaceSettings(SourceSettings):
    """Settings of a source of images, which have neither feature columns nor captions."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """No feature columns: an image is its pixels."""
        return ()

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:  # noqa: ARG002
        """No captions."""
        return ()


class SubjectSplits(FaceSettings):
    """Held-out subjects by name; all others are the split `train`. Without any there is one data set without splits."""

    validation: tuple[str, ...] = ()
    """Subjects of the split `val`, which chooses checkpoint and threshold."""
    test: tuple[str, ...] = ()
    """Subjects of the split `test`."""
    max_pairs: PositiveInt = 3000
    """Maximum number of matching pairs of a split; there are as many different ones."""
    pair_seed: int = 0
    """Random seed of the pair lists."""

    def entries(self, images: Mapping[str, Sequence[Any]], where: str) -> list[VideoEntry]:
        """The subjects with what their images are read from, in order, each in its split.

        Raises InputError for fewer than six subjects, or one with a single image; ConfigError for a held-out subject
        that is not there, or is in two splits.
        """
        if len(images) < FEWEST_SUBJECTS:
            raise InputError(
                f"{where} holds {len(images)} subjects; verification on unseen faces needs at least "
                f"{FEWEST_SUBJECTS}: give a folder with a folder of images for each subject"
            )
        for subject, found in images.items():
            if len(found) < 2:
                raise InputError(
                    f"{where}: subject {subject!r} has {len(found)} image, which makes no matching pair; give it "
                    "another one, or remove its folder"
                )
        self._check_splits(images, where)
        return [VideoEntry(subject, tuple(found), self._split(subject)) for subject, found in images.items()]

    def drawn(self, images: Mapping[str, Sequence[str]]) -> PairList:
        """The pairs of these subjects' image ids."""
        return draw_pairs(images, self.max_pairs, self.pair_seed)

    def _split(self, subject: str) -> str | None:
        if not self.validation and not self.test:
            return None
        return "test" if subject in self.test else "val" if subject in self.validation else "train"

    def _check_splits(self, images: Mapping[str, Sequence[Any]], where: str) -> None:
        both = sorted(set(self.validation) & set(self.test))
        if both:
            raise ConfigError(
                f"subject {both[0]!r} is in --validation and in --test; a subject belongs to one split only"
            )
        for subject in (*self.validation, *self.test):
            if subject not in images:
                known = ", ".join(list(images)[:8])
                raise ConfigError(f"{where} has no subject {subject!r} to hold out; its subjects are {known}, …")
        if (self.validation or self.test) and len({*self.validation, *self.test}) >= len(images):
            raise ConfigError(f"all {len(images)} subjects of {where} are held out; leave some to train on")
