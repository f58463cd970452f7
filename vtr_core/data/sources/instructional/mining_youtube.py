"""Mining YouTube: densely annotated cooking videos, one .srt file of verb-object phrases each."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import ClassVar

from vtr_core import storage
from vtr_core.data.records.annotations import TimedLabel
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.second_features import SecondFeatures
from vtr_core.data.sources.files import BadLine, check_id, filled_lines, parse_srt, read_table, read_text
from vtr_core.data.sources.source import Drops, StepVideo, VideoEntry
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError

# The published dictionary holds stems; these are not words of the language, or another word, so no text would match.
_WORDS = {
    "asparagu": "asparagus",
    "blueberrie": "blueberry",
    "fill": "filling",
    "leave": "leaf",
    "season": "seasoning",
    "strawberrie": "strawberry",
    "topp": "topping",
}
_VERBS = {"pres": "press", "tos": "toss"}
_SPELLINGS = {
    "appy": "apply",
    "leaf": "leave",
    "omelet": "omelette",
    "omellete": "omelette",
    "sauté": "saute",
    "them": "it",
}
_ENDINGS = ("s", "es", "ing", "ed")


def class_of(phrase: str, classes: Iterable[str]) -> str | None:
    """The class of an annotated phrase, such as `crack_eggs` → `crack_egg`, or None where it has none.

    A class is a verb and one object. Of a phrase's first word and each later one in turn, the stems that make a class
    together are taken: the word itself, without a plural, -ing or -ed, and with the commonest slips mended. So
    `add_onions_green` is `add_onion`, and of two objects the first counts.
    """
    known = classes if isinstance(classes, frozenset | set | dict) else set(classes)
    verb, *objects = phrase.strip().lower().split("_")
    pairs = (f"{v}_{o}" for word in objects for v in _stems(verb) for o in _stems(word))
    return next((pair for pair in pairs if pair in known), None)


def class_text(name: str) -> str:
    """The text that describes a class: its verb and its object as words, `crack_egg` → `crack egg`.

    The dictionary's stems that are no words are written out: `toss`, `asparagus`, `topping`.
    """
    verb, _, noun = name.partition("_")
    return f"{_VERBS.get(verb, verb)} {_WORDS.get(noun, noun)}".strip()


def _stems(word: str) -> Iterator[str]:
    """The word, then what is left of it without endings, nearest first."""
    yield word
    if word in _SPELLINGS:
        yield _SPELLINGS[word]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            stem = word.removesuffix(ending)
            yield stem
            if ending in ("ing", "ed"):
                yield stem + "e"
                yield stem[:-1]
            elif stem.endswith("ing"):
                yield stem.removesuffix("ing")


DICTIONARY = "weakYouTube_dict.txt"
BACKGROUND = "background"


class MiningYouTube(SecondFeatures):
    """The steps of a video are the classes of its own segments, in the order of their starts (then of their ends).

    The paper's protocol gives the ordered actions of a video and asks where they are (Kuehne et al. 2019). A class that
    comes several times is as many steps of one label. Segments may overlap. A phrase is reduced to its class by
    `class_of`, and the class is described by `class_text`. The annotations do not tell a video's recipe: without
    `recipes` all videos are of one task, `all`.
    """

    name: ClassVar[str] = "mining_youtube"

    annotations: str
    """Folder of the release: annotations/<video id>.srt and weakYouTube_dict.txt, which lists the classes."""
    videos_file: str | None = None
    """A list of the video ids to take, one a line (default: every .srt file; the released list lacks one of them)."""
    recipes: str | None = None
    """A table with video_id and recipe, the task by which recall is averaged."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and perhaps `audio`."""
        return self._specs

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos sorted by id; `VideoEntry.content` is (task, segments)."""
        entries = []
        for video_id in self._video_ids:
            try:
                check_id(video_id)
                task, segments = self._task(video_id), self._segments(video_id, drops)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{self.videos_file or self.annotations}: {fault}")
                continue
            if segments:
                entries.append(VideoEntry(video_id, (task, segments)))
            else:
                drops.drop(Reason.NO_STEPS, f"{self._file(video_id)} has no usable segment")
        return entries

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The text of every step."""
        for video in videos:
            yield from (class_text(segment.label) for segment in video.content[1])

    def step_video(self, video: VideoEntry, drops: Drops) -> StepVideo | None:
        """The video with a step for each of its segments."""
        task, segments = video.content
        labels = [segment.label for segment in segments]
        frames = self.frames(video.video_id, self._specs, drops)
        return StepVideo(video.video_id, task, [class_text(label) for label in labels], labels, segments, frames)

    def _segments(self, video_id: str, drops: Drops) -> list[TimedLabel]:
        """The usable segments of a video by start and end; others are dropped and counted, background is no step."""
        file = self._file(video_id)
        segments = []
        for entry in parse_srt(read_text(file)):
            where = f"{file}, line {entry.line}"
            if isinstance(entry, BadLine):
                drops.drop(Reason.BAD_LINE, f"{where}: {entry.fault}")
            elif entry.end <= entry.start:
                drops.drop(Reason.END_BEFORE_START, f"{where}: {entry.text} ends at {entry.end:g} s, when it starts")
            elif (label := class_of(entry.text, self._classes)) is not None:
                segments.append(TimedLabel(entry.start, entry.end, label))
            elif entry.text != BACKGROUND:
                drops.drop(Reason.UNKNOWN_STEP, f"{where}: {entry.text!r} belongs to no class of {DICTIONARY}")
        return sorted(segments, key=lambda segment: (segment.start, segment.end))

    def _file(self, video_id: str) -> Location:
        return locate(self.annotations) / "annotations" / f"{video_id}.srt"

    def _task(self, video_id: str) -> str:
        if self.recipes is None:
            return "all"
        if video_id not in self._recipes:
            raise UnusableError(Reason.UNKNOWN_VIDEO, f"{self.recipes} does not name the recipe of {video_id}")
        return self._recipes[video_id]

    @cached_property
    def _specs(self) -> tuple[FeatureSpec, ...]:
        return self.specs(self._video_ids)

    @cached_property
    def _video_ids(self) -> list[str]:
        if self.videos_file is not None:
            return sorted(set(filled_lines(locate(self.videos_file))))
        folder = locate(self.annotations) / "annotations"
        names = [file.name.removesuffix(".srt") for file in storage.children(folder) if file.name.endswith(".srt")]
        if not names:
            raise InputError(f"{folder} holds no .srt file; give --annotations the folder of the release")
        return sorted(names)

    @cached_property
    def _classes(self) -> frozenset[str]:
        return frozenset(filled_lines(locate(self.annotations) / DICTIONARY)) - {BACKGROUND}

    @cached_property
    def _recipes(self) -> dict[str, str]:
        assert self.recipes is not None
        rows = read_table(locate(self.recipes), ("video_id", "recipe"))
        return {str(row["video_id"]): str(row["recipe"]) for row in rows}
