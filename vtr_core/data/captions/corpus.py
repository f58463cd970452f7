"""The training captions of a corpus, from a data set or from annotation files without features."""

from collections.abc import Mapping
from typing import Any

from vtr_core import storage
from vtr_core.data.captions.video_captions import VideoCaptions, video_captions
from vtr_core.data.manifest import Manifest, data_set, splits
from vtr_core.data.sources.msrvtt.annotations import read_annotations
from vtr_core.data.sources.source import Drops
from vtr_core.errors import ConfigError, InputError
from vtr_core.fingerprint import key64
from vtr_core.storage import Location, locate

ALL = "all"
"""Stands for a list of videos: all videos of the file are training videos."""


def training_captions(uri: str, videos: str | None = None) -> list[VideoCaptions]:
    """The videos with captions of the training split at `uri`, with their captions.

    uri: a folder of splits, with `train` or a single one; a data set, used as a whole; MSR-VTT's annotations, file or
    folder, for the official training split; or a JSON file {video: [caption, …]}, whose training videos are given by
    `videos`: a text file with an id at the start of each line, or "all". Raises ConfigError where `videos` is required
    and missing, DatasetError for several splits without `train`, InputError for a file of another format or an unknown
    id.
    """
    place = locate(uri)
    if not uri.endswith(".json") and (splits(uri) or storage.exists(place / "manifest.json")):
        return _told(list(video_captions(Manifest.load(data_set(uri, "train")))))
    content = storage.read_json(place) if uri.endswith(".json") else {}
    if not uri.endswith(".json") or "sentences" in content:
        annotated = [one for one in read_annotations(uri, "official", Drops()) if one.split == "train"]
        return _told([VideoCaptions(one.video_id, key64(one.video_id), one.captions) for one in annotated])
    return _told(_of_mapping(_checked(content, place), place, videos))


def _told(videos: list[VideoCaptions]) -> list[VideoCaptions]:
    return [video for video in videos if video.captions]


def _of_mapping(content: Mapping[str, list[str]], place: Location, videos: str | None) -> list[VideoCaptions]:
    if videos is None:
        raise ConfigError(
            f"{place} does not say which videos are for training; give their list with --videos FILE, or --videos all"
        )
    wanted = list(content) if videos == ALL else _ids(locate(videos))
    unknown = [name for name in wanted if name not in content]
    if unknown:
        raise InputError(
            f"{videos} lists {len(unknown)} videos that {place} does not hold, the first is {unknown[0]!r}"
        )
    return [VideoCaptions(name, key64(name), tuple(content[name])) for name in dict.fromkeys(wanted)]


def _ids(place: Location) -> list[str]:
    """The first word of every non-empty line."""
    text = storage.read_bytes(place).decode()
    return [line.split()[0] for line in text.splitlines() if line.strip()]


def _checked(content: Any, place: Location) -> Mapping[str, list[str]]:
    good = isinstance(content, dict) and all(
        isinstance(texts, list) and all(isinstance(text, str) for text in texts) for texts in content.values()
    )
    if not good:
        raise InputError(f'{place} must be {{"video": ["caption", …], …}}, or MSR-VTT\'s lists of videos and sentences')
    return content
