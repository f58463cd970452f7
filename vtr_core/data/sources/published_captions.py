"""Captions of published data sets in their own JSON files."""

import json
import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, assert_never

from vtr_core import storage
from vtr_core.data.sources.files import (
    Row,
    filled_lines,
    read_source_json,
    read_table,
    require_source,
    spellings,
    text_of,
)
from vtr_core.data.sources.source import Drops, worded_captions
from vtr_core.data.sources.video_files import without_suffix
from vtr_core.errors import ConfigError, InputError
from vtr_core.json_text import parse_json
from vtr_core.storage import Location, StorageError, locate
from vtr_core.unusable import Reason

BLOCK = 2**24
"""Bytes of the file that are read at a time."""
_LONGEST_VALUE = 2**28
_LONGEST_GAP = 2**16
"""Bytes between two values: a name, a colon and a comma."""
_LARGEST_READ = 2**24
_MARK = "\ufeff".encode().decode("latin-1")
_NAME = re.compile(r'\s*([{,])\s*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)
_FORM = 'must be an object of objects, {"name": {…}, …}'


@dataclass(frozen=True, slots=True)
class Member:
    """A member whose value, an object, is the bytes from `begin` to `end` of the file."""

    name: str
    begin: int
    end: int


def members(location: Location) -> Iterator[Member]:
    """The members of the object in the file, in order, their values unread; a name may come twice.

    Python's parser runs over each value, 97 MB a core-second. It sees the file as Latin-1, where a byte is a character,
    so that its positions are those of bytes; what delimits values is below 128, alike in UTF-8. Raises InputError
    for a file of another form, naming the member where a value is not an object; StorageError where the file ends too
    early, is not valid or cannot be read, as `storage.read_json` does.
    """
    require_source(location)
    try:
        with location.open_stream() as stream:
            yield from _members(str(location), iter(lambda: stream.read(BLOCK), b""))
    except OSError as error:
        raise StorageError(f"{location} cannot be read ({error}); a file of JSON is needed") from error


def _members(where: str, blocks: Iterator[bytes]) -> Iterator[Member]:
    """The members of a file that comes in blocks: `text` is what is left of it, from `begin` on."""
    text, begin, separator = "", 0, "{"
    for block in blocks:
        text += block.decode("latin-1")
        if separator == "{" and text.startswith(_MARK):
            text, begin = text[len(_MARK) :], begin + len(_MARK)
        position = 0
        while (match := _NAME.match(text, position)) and match[1] == separator and match.end() < len(text):
            name = _name(where, match[2])
            if text[match.end()] != "{":
                raise InputError(f"{where}, {name}: it {_FORM}")
            try:
                _, position = _DECODER.raw_decode(text, match.end())
            except (ValueError, RecursionError) as error:
                if len(text) - match.end() > _LONGEST_VALUE:
                    raise _invalid(where, str(error)) from error
                break  # it may go on in the next block
            yield Member(name, begin + match.end(), begin + position)
            separator = ","
        text, begin = text[position:], begin + position
        if len(text) > _LONGEST_GAP and not _NAME.match(text):
            raise InputError(f"{where} {_FORM}")
    if not re.fullmatch(r"\s*}\s*" if separator == "," else r"\s*{\s*}\s*", text):
        if text.strip()[:1] not in ("", separator, "}"):
            raise InputError(f"{where} {_FORM}")
        raise _invalid(where, f"it ends with {text.strip()[-40:]!r}")


def _name(where: str, literal: str) -> str:
    try:
        return str(json.loads(literal.encode("latin-1"), strict=False))
    except ValueError as error:
        raise _invalid(where, str(error)) from error


def _invalid(where: str, reason: str) -> StorageError:
    return StorageError(f"{where} is not valid JSON ({reason}); restore it or write it anew")


def read_values(location: Location, chosen: Sequence[Member]) -> Iterator[Any]:
    """The values of some members, in the given order; those that follow each other in the file come with one reading.

    Raises StorageError where one is not valid JSON or cannot be read.
    """
    try:
        with location.open_file() as file:
            for run in _runs(chosen):
                first = run[0].begin
                content = file.read_at(run[-1].end - first, first)
                for member in run:
                    try:
                        yield parse_json(content[member.begin - first : member.end - first])
                    except ValueError as error:
                        raise _invalid(f"{location}, {member.name},", str(error)) from error
    except OSError as error:
        raise StorageError(f"{location} cannot be read ({error}); a file of JSON is needed") from error


def _runs(chosen: Sequence[Member]) -> Iterator[list[Member]]:
    """The members in order, those together that are read at once."""
    run: list[Member] = []
    for member in chosen:
        follows = run and 0 <= member.begin - run[-1].end <= _LONGEST_GAP
        if run and not (follows and member.end - run[0].begin <= _LARGEST_READ):
            yield run
            run = []
        run.append(member)
    if run:
        yield run


AnnotatedDataSet = Literal["msrvtt", "msrvtt-1k-a", "msvd", "didemo", "activitynet"]


@dataclass(frozen=True)
class AnnotatedVideo:
    """A video as annotated: its duration in seconds (0: unknown), its captions in the order of the file."""

    video_id: str
    split: str | None
    duration: float
    captions: tuple[str, ...]
    other_names: tuple[str, ...] = ()
    """Names beside its id that its files may have."""
    end: float | None = None
    """Seconds of the video that were annotated, from its start (None: all)."""

    def name_among(self, present: Container[str]) -> str | None:
        """The first of its names that is `present`; None where there is none."""
        names = (spelling for name in (self.video_id, *self.other_names) for spelling in spellings(name))
        return next((name for name in names if name in present), None)


def read_annotated(name: AnnotatedDataSet, annotations: str, drops: Drops) -> Iterable[AnnotatedVideo]:
    """The videos of the annotation files of `name` in the folder `annotations`; faults as the data set's reader."""
    match name:
        case "msrvtt":
            return read_msrvtt(annotations, "official", drops)
        case "msrvtt-1k-a":
            return read_msrvtt(annotations, "1k-a", drops)
        case "msvd":
            return read_msvd(annotations, drops)
        case "didemo":
            return read_didemo(annotations, drops)
        case "activitynet":
            return read_activitynet(annotations, drops)
        case _:
            assert_never(name)


def _of_splits(
    folder: str,
    files: Mapping[str, str],
    data_set: str,
    described: Callable[[Location], Mapping[str, Any]],
    drops: Drops,
    video_id: Callable[[str], str] = str,
) -> Iterator[tuple[str, str, str, Any]]:
    """(where, split, name, description) of every video of the `files` of splits that are there, in their order.

    `described` reads the descriptions of a file by the videos' names. A video whose `video_id` an earlier split has is
    dropped. InputError for a folder without any of the files.
    """
    place = locate(folder)
    present = {split: place / name for split, name in files.items() if storage.exists(place / name)}
    if not present:
        raise InputError(f"there are no {data_set} at {place}; give the folder of {', '.join(files.values())}")
    split_of: dict[str, str] = {}
    for split, file in present.items():
        for name, description in described(file).items():
            where, known = f"{file}, {name}", split_of.setdefault(video_id(name), split)
            if known == split:
                yield where, split, name, description
            else:
                message = f"{where}: it is in the split {known} already"
                drops.drop(Reason.SPLIT_CONFLICT, message)


def _paragraph(sentences: Iterable[object], where: str, drops: Drops) -> tuple[str, ...]:
    """The sentences that hold a word, joined by spaces in their order; empty where none does.

    Others are dropped and counted; `where` names the video.
    """
    sentences_with_words = [" ".join(text.split()) for _, text in worded_captions(sentences, where, drops)]
    return (" ".join(sentences_with_words),) if sentences_with_words else ()


def read_activitynet(folder: str, drops: Drops) -> Iterator[AnnotatedVideo]:
    """The videos of `train.json`, and those of `val_1.json` as the split `test`, where they are there.

    ActivityNet Captions (Krishna et al. 2017): a file is an object of videos (`v_` and YouTube's id), each with
    `sentences` and `duration` in seconds; a paragraph is all sentences in their order, whose `timestamps` are not
    needed. val_1 has 4,917 videos and is what CLIP4Clip tests.
    Files of a video may be called with or without `v_`. A video of both splits is dropped from the second. InputError
    for a folder without these files, and other forms.
    """
    files = {"train": "train.json", "test": "val_1.json"}
    for where, split, name, described in _of_splits(folder, files, "ActivityNet Captions", _activitynet, drops):
        duration = described.get("duration")
        if not isinstance(duration, int | float) or not 0 <= duration < math.inf:
            raise InputError(f"{where}: the duration is {duration!r}; it must be a number of seconds from 0 on")
        text = _paragraph(described["sentences"], where, drops)
        yield AnnotatedVideo(name, split, float(duration), text, (name.removeprefix("v_"),))


def _activitynet(file: Location) -> Mapping[str, Mapping[str, Any]]:
    content = read_source_json(file)
    if not isinstance(content, dict):
        raise InputError(f"{file} is no JSON object of videos; give ActivityNet Captions in their published form")
    for video_id, described in content.items():
        if not isinstance(described, dict) or not isinstance(described.get("sentences"), list):
            raise InputError(f"{file}: {video_id} has no list of sentences; it needs sentences and duration")
    return content


DIDEMO_SECONDS = 30.0
"""Six chunks of five seconds; what longer videos show later was not annotated."""


def read_didemo(folder: str, drops: Drops) -> Iterator[AnnotatedVideo]:
    """The videos of `train_data.json`, `val_data.json` and `test_data.json`, those that are there, in their order.

    DiDeMo (Hendricks et al. 2017): a file is a list of objects with `video`, a file name, and `description`; `times`,
    the annotators' moments, are not needed for a paragraph: all descriptions of a video, in the order of the file
    (CLIP4Clip's protocol). A video's id is its name without suffix. Videos without a word, and those of an earlier
    split, are dropped. InputError for a folder without any of the files, and for other forms.
    """
    files = {split: f"{split}_data.json" for split in ("train", "val", "test")}
    rows = _of_splits(folder, files, "DiDeMo annotations", _didemo, drops, without_suffix)
    for where, split, name, sentences in rows:
        text = _paragraph(sentences, where, drops)
        yield AnnotatedVideo(without_suffix(name), split, 0.0, text, (name,), DIDEMO_SECONDS)


def _didemo(file: Location) -> Mapping[str, list[object]]:
    content = read_source_json(file)
    if not isinstance(content, list):
        raise InputError(f"{file} is no JSON list; give DiDeMo's lists of objects with video and description")
    descriptions: dict[str, list[object]] = {}
    for number, moment in enumerate(content):
        if not isinstance(moment, dict) or not isinstance(moment.get("video"), str) or "description" not in moment:
            raise InputError(f"{file}: entry {number} lacks video, a file name, or description; it needs both")
        descriptions.setdefault(moment["video"], []).append(moment["description"])
    return descriptions


_MSVD = "captions_msvd.json"
_MSVD_LISTS = {"train_list.txt": "train", "val_list.txt": "val", "test_list.txt": "test"}


def read_msvd(folder: str, drops: Drops) -> Iterator[AnnotatedVideo]:
    """The listed videos with their captions, split by split; the duration is not annotated, 0.

    MSVD (Chen and Dolan 2011): `captions_msvd.json` maps a video's id to its captions. A listed video without captions,
    and one that is listed twice, are dropped; videos in no list are left out, and counted. InputError for missing files
    and other forms.
    """
    file = locate(folder) / _MSVD
    if not storage.exists(file):
        raise InputError(f"there is no {file}; give the folder of {', '.join((_MSVD, *_MSVD_LISTS))}")
    captions = read_source_json(file)
    if not isinstance(captions, dict) or not all(isinstance(texts, list) for texts in captions.values()):
        raise InputError(f"{file} is no JSON object of lists of captions by video; give MSVD's captions in that form")
    listed: set[str] = set()
    for name, split in _MSVD_LISTS.items():
        place = locate(folder) / name
        for video in filled_lines(place):
            if video in listed:
                drops.drop(Reason.DUPLICATE_ID, f"{place}: {video} is listed twice")
            elif video not in captions:
                drops.drop(Reason.EMPTY_CAPTION, f"{place}: {video} has no captions in {_MSVD}")
            else:
                yield AnnotatedVideo(video, split, 0.0, tuple(captions[video]))
            listed.add(video)
    for video in captions.keys() - listed:
        drops.drop(Reason.UNKNOWN_VIDEO, f"{_MSVD}: {video} is in no list", len(captions[video]))


_MSRVTT = ("train_val_videodatainfo.json", "test_videodatainfo.json")
_MSRVTT_SPLITS = {"train": "train", "validate": "val", "test": "test"}
_MSRVTT_OF_HOWTO100M = "MSRVTT_data.json"
"""Both files in one, as HowTo100M's authors have them."""
_TRAIN_9K, _TEST_1K = "MSRVTT_train.9k.csv", "MSRVTT_JSFUSION_test.csv"


def read_msrvtt(uri: str, split: Literal["official", "1k-a"], drops: Drops) -> Sequence[AnnotatedVideo]:
    """The videos of the annotation file or folder at `uri`, each once, under the given split.

    "1k-a" takes 9,000 videos with all captions for training, and 1,000 with the one given sentence each for the test.
    Where the table of those 9,000 is not there, the test alone, which needs no annotations. Raises InputError for
    missing files or keys.
    """
    location = locate(uri)
    single = location.name.endswith(".json")
    names = _MSRVTT if storage.exists(location / _MSRVTT[0]) else (_MSRVTT_OF_HOWTO100M,)
    files = [location] if single else [location / name for name in names if storage.exists(location / name)]
    trains = split == "official" or single or storage.exists(location / _TRAIN_9K)
    if trains and not (files and storage.exists(files[0])):
        wanted = f"{' and '.join(_MSRVTT)}, or {_MSRVTT_OF_HOWTO100M}"
        raise InputError(f"there are no MSR-VTT annotations at {location}; give the folder of {wanted}")
    videos: dict[str, AnnotatedVideo] = {}
    for file in files:
        for video in _msrvtt(file, drops):
            if videos.setdefault(video.video_id, video) is not video:
                drops.drop(Reason.DUPLICATE_ID, f"{file}: {video.video_id} is listed twice")
    if split == "official":
        return list(videos.values())
    if single:
        raise ConfigError(f"the split 1k-a needs the folder with {_TRAIN_9K} and {_TEST_1K}, not the file {location}")
    chosen = []
    for row in read_table(location / _TRAIN_9K, ("video_id",)) if trains else ():
        if row["video_id"] in videos:
            chosen.append(replace(videos[row["video_id"]], split="train"))
        else:
            message = f"{location / _TRAIN_9K}: {row['video_id']} is not among the annotated videos"
            drops.drop(Reason.UNKNOWN_VIDEO, message)
    for row in read_table(location / _TEST_1K, ("video_id", "sentence")):
        known = videos.get(row["video_id"])
        chosen.append(AnnotatedVideo(row["video_id"], "test", known.duration if known else 0.0, (row["sentence"],)))
    return chosen


def _msrvtt(file: Location, drops: Drops) -> Iterator[AnnotatedVideo]:
    content = read_source_json(file)
    captions: dict[str, list[str]] = {}
    for sentence in _records(content, "sentences", ("video_id", "caption"), file):
        video_id, caption = _id(sentence, "sentences", file), sentence["caption"]
        texts = caption if isinstance(caption, list) else [caption]
        for text in texts:  # as it is published: overlap compares captions character by character
            captions.setdefault(video_id, []).append(text if text_of(text, f"{file}, {video_id}") else "")
    for video in _records(content, "videos", ("video_id", "split", "start time", "end time"), file):
        video_id, split = _id(video, "videos", file), video["split"]
        if not isinstance(split, str) or split not in _MSRVTT_SPLITS:
            raise InputError(f"{file}: {video_id} has the split {split!r}; allowed are {', '.join(_MSRVTT_SPLITS)}")
        try:
            start, end = float(video["start time"]), float(video["end time"])
        except (TypeError, ValueError, OverflowError):
            start = end = math.nan
        if not 0 <= start <= end < math.inf:
            raise InputError(f"{file}: {video_id} has times that are not ordered numbers of seconds from 0 on")
        yield AnnotatedVideo(video_id, _MSRVTT_SPLITS[split], round(end - start, 3), tuple(captions.pop(video_id, ())))
    for video_id, texts in captions.items():
        drops.drop(Reason.UNKNOWN_VIDEO, f"{file}: sentences of {video_id}, which is not among its videos", len(texts))


def _id(record: Mapping[str, Any], key: str, file: Location) -> str:
    return Row(record, f"{file}, {key}").required_id("video_id")


def _records(content: Any, key: str, needed: Sequence[str], file: Location) -> Sequence[Mapping[str, Any]]:
    """The list of objects under `key`, each with the `needed` keys."""
    records = content.get(key) if isinstance(content, dict) else None
    if not isinstance(records, list):
        present = ", ".join(content) if isinstance(content, dict) else type(content).__name__
        raise InputError(f"{file} has {present or 'nothing'}; it needs the lists videos and sentences")
    for number, record in enumerate(records):
        missing = [name for name in needed if not isinstance(record, dict) or name not in record]
        if missing:
            raise InputError(f"{file}: {key}[{number}] lacks {', '.join(missing)}; it needs {', '.join(needed)}")
    return records
