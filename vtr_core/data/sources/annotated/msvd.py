"""MSVD (Chen and Dolan 2011): captions and splits of 1,200 / 100 / 670 videos."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from vtr_core import storage
from vtr_core.data.sources.annotated.annotated_videos import AnnotatedClips, AnnotatedFrames, AnnotatedListing
from vtr_core.data.sources.files import read_lines
from vtr_core.data.sources.reasons import Reason
from vtr_core.data.sources.source import AnnotatedVideo, Drops
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate

CAPTIONS = "captions_msvd.json"
LISTS = {"train_list.txt": "train", "val_list.txt": "val", "test_list.txt": "test"}


def read_msvd(folder: str, drops: Drops) -> Iterator[AnnotatedVideo]:
    """The listed videos with their captions, split by split; the duration is not annotated, 0.

    `captions_msvd.json` maps a video's id to its captions. A listed video without captions, and one that is listed
    twice, are dropped; videos in no list are left out, and counted. InputError for missing files and other forms.
    """
    captions = _captions(locate(folder) / CAPTIONS)
    seen: set[str] = set()
    for name, split in LISTS.items():
        place = locate(folder) / name
        for video in _listed(place):
            if video in seen:
                drops.drop(Reason.DUPLICATE_ID, f"{place}: {video} is listed twice")
            elif video not in captions:
                drops.drop(Reason.EMPTY_CAPTION, f"{place}: {video} has no captions in {CAPTIONS}")
            else:
                yield AnnotatedVideo(video, split, 0.0, tuple(captions[video]))
            seen.add(video)
    for video in captions.keys() - seen:
        drops.drop(Reason.UNKNOWN_VIDEO, f"{CAPTIONS}: {video} is in no list", len(captions[video]))


def _captions(place: Location) -> Mapping[str, list[str]]:
    if not storage.exists(place):
        raise InputError(f"there is no {place}; give the folder of {', '.join((CAPTIONS, *LISTS))}")
    content = storage.read_json(place)
    if not isinstance(content, dict) or not all(isinstance(texts, list) for texts in content.values()):
        raise InputError(f"{place} is no JSON object of lists of captions by video; give MSVD's captions in that form")
    return content


def _listed(place: Location) -> list[str]:
    return [line.strip() for line in read_lines(place) if line.strip()]


class _Annotations(AnnotatedListing):
    name: ClassVar[str] = "msvd"

    annotations: str
    """Folder of captions_msvd.json, train_list.txt, val_list.txt and test_list.txt: 1,200 / 100 / 670 videos."""

    def _annotated(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        return list(read_msvd(self.annotations, drops))


class Msvd(_Annotations, AnnotatedClips):
    """Clips of MSVD."""


class MsvdVideos(_Annotations, AnnotatedFrames):
    """Whole videos of MSVD."""
