"""DiDeMo (Hendricks et al. 2017): descriptions of moments, and a paragraph of each video's."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from vtr_core import storage
from vtr_core.data.sources.annotated.annotated_videos import AnnotatedClips, AnnotatedFrames, AnnotatedListing
from vtr_core.data.sources.reasons import Reason
from vtr_core.data.sources.source import AnnotatedVideo, Drops, paragraph
from vtr_core.data.sources.video_files import without_suffix
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate

FILES = {"train": "train_data.json", "val": "val_data.json", "test": "test_data.json"}
ANNOTATED_SECONDS = 30.0
"""Six chunks of five seconds; what longer videos show later was not annotated."""


def read_didemo(folder: str, drops: Drops) -> Iterator[AnnotatedVideo]:
    """The videos of `train_data.json`, `val_data.json` and `test_data.json`, those that are there, in their order.

    A file is a list of objects with `video`, a file name, and `description`; `times`, the annotators' moments, are not
    needed for a paragraph: all descriptions of a video, in the order of the file (CLIP4Clip's protocol). A video's id
    is its name without suffix. Videos without a word, and those of an earlier split, are dropped. InputError for a
    folder without any of the files, and for other forms.
    """
    place = locate(folder)
    files = {split: place / name for split, name in FILES.items() if storage.exists(place / name)}
    if not files:
        raise InputError(f"there are no DiDeMo annotations at {place}; give the folder of {', '.join(FILES.values())}")
    seen: dict[str, str] = {}
    for split, file in files.items():
        for name, sentences in _described(file).items():
            where, video_id = f"{file}, {name}", without_suffix(name)
            if seen.setdefault(video_id, split) != split:
                drops.drop(Reason.SPLIT_CONFLICT, f"{where}: it is in the split {seen[video_id]} already")
                continue
            text = paragraph(sentences, where, drops)
            yield AnnotatedVideo(video_id, split, 0.0, text, (name,), ANNOTATED_SECONDS)


def _described(file: Location) -> Mapping[str, list[object]]:
    """The descriptions of every video, in the order of the file."""
    content = storage.read_json(file)
    if not isinstance(content, list):
        raise InputError(f"{file} is no JSON list; give DiDeMo's lists of objects with video and description")
    found: dict[str, list[object]] = {}
    for number, moment in enumerate(content):
        if not isinstance(moment, dict) or not isinstance(moment.get("video"), str) or "description" not in moment:
            raise InputError(f"{file}: entry {number} lacks video, a file name, or description; it needs both")
        found.setdefault(moment["video"], []).append(moment["description"])
    return found


class _Annotations(AnnotatedListing):
    name: ClassVar[str] = "didemo"

    annotations: str
    """Folder of train_data.json, val_data.json and test_data.json: 8,395 / 1,065 / 1,004 videos, each with one
    paragraph."""

    def _annotated(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        return list(read_didemo(self.annotations, drops))


class DiDeMo(_Annotations, AnnotatedClips):
    """Clips of DiDeMo."""


class DiDeMoVideos(_Annotations, AnnotatedFrames):
    """Whole videos of DiDeMo."""
