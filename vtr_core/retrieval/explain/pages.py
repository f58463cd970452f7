"""The pages of explanations and of hits, self-contained HTML files without scripts, and the pictures on them.

A picture is of a folder of image files, the data set's thumbnails, or a placeholder.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import jinja2

from vtr_core import storage
from vtr_core.data.shards.thumbnails import Thumbnail
from vtr_core.errors import InputError
from vtr_core.fingerprint import key64
from vtr_core.page_templates import page_environment
from vtr_core.retrieval.explain.explanation import ExplainReport, described, percent, sized
from vtr_core.storage import Location, is_file_name
from vtr_core.time_span import time_span

if TYPE_CHECKING:
    from vtr_core.retrieval.explain.examples import ExampleReport

LARGEST_IMAGE = 2_000_000
"""Largest size of an image file in bytes; a page embeds many."""
_KINDS = {
    "jpg": ("image/jpeg", b"\xff\xd8\xff"),
    "jpeg": ("image/jpeg", b"\xff\xd8\xff"),
    "png": ("image/png", b"\x89PNG"),
}


@runtime_checkable
class KeyFrames(Protocol):
    """Key frames by the ids of items, such as a data set's `Thumbnails`."""

    def find(self, ids: Iterable[str]) -> Mapping[str, Thumbnail]:
        """Those that there are."""
        ...


@dataclass(frozen=True)
class Picture:
    """The key frame of a video or clip as image bytes; without them a coloured placeholder."""

    number: int
    item_id: str
    media_type: str = ""
    content: bytes = b""
    when: str = ""
    """The time span of the frame, for display; empty where unknown."""

    @property
    def hue(self) -> int:
        """The hue of the placeholder in degrees, a function of the video's id."""
        return key64(self.item_id) % 360

    @property
    def href(self) -> str:
        """The picture or placeholder as a data URI."""
        media_type = self.media_type or "image/svg+xml"
        return f"data:{media_type};base64,{base64.b64encode(self.content or self.placeholder.encode()).decode()}"

    @property
    def placeholder(self) -> str:
        """The placeholder as an SVG file."""
        hue = self.hue
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 90">'
            f'<rect width="160" height="90" fill="hsl({hue} 32% 62%)"/>'
            f'<path d="M0 90 L52 34 L88 72 L112 50 L160 90 Z" fill="hsl({(hue + 24) % 360} 36% 42%)"/>'
            f'<circle cx="122" cy="26" r="11" fill="hsl({(hue + 60) % 360} 60% 78%)"/></svg>'
        )


def check_frames(folder: Location | None) -> None:
    """InputError where a given folder does not exist."""
    if folder is not None and not storage.exists(folder):
        raise InputError(f"--keyframes {folder} does not exist; it is a folder of <video id>.jpg or .png files")


def read_pictures(
    folder: Location | None, item_ids: Iterable[str], thumbnails: KeyFrames | None = None
) -> dict[str, Picture]:
    """The picture of each video or clip, numbered from 0.

    In order of preference from the folder, from thumbnails, or a placeholder. Files need the signature of their type
    and at most LARGEST_IMAGE bytes.
    """
    distinct = dict.fromkeys(item_ids)
    known: Mapping[str, Thumbnail] = {} if thumbnails is None else thumbnails.find(distinct)
    return {item_id: _picture(folder, item_id, number, known.get(item_id)) for number, item_id in enumerate(distinct)}


def _picture(folder: Location | None, item_id: str, number: int, known: Thumbnail | None) -> Picture:
    when = "" if known is None else time_span(known.start, known.end)
    for suffix, (media_type, start) in _KINDS.items():
        name = f"{item_id}.{suffix}"
        if folder is None or not is_file_name(name) or not storage.exists(folder / name):
            continue
        content = storage.read_bytes(folder / name)
        if content.startswith(start) and len(content) <= LARGEST_IMAGE:
            return Picture(number, item_id, media_type, content, when)
    media_type, start = _KINDS["jpg"]
    if known is not None and known.jpeg.startswith(start) and len(known.jpeg) <= LARGEST_IMAGE:
        return Picture(number, item_id, media_type, known.jpeg, when)
    return Picture(number, item_id, when=when)


def render_explanations(report: ExplainReport, pictures: Mapping[str, Picture]) -> str:
    """The report as HTML. All texts (queries, ids, concepts) are escaped.

    pictures: by video id, one for every hit.
    """
    return _environment().get_template("explanations.html").render(report=report, pictures=pictures)


def render_examples(report: "ExampleReport", pictures: Mapping[str, Picture]) -> str:
    """The retrieved examples of models as HTML, everything escaped; without placeholders where no hit has a picture.

    pictures: by item id, one for every hit.
    """
    pictured = any(picture.content for picture in pictures.values())
    return _environment().get_template("examples.html").render(report=report, pictures=pictures, pictured=pictured)


def render_hits(
    query: str,
    scoring: str,
    data: str,
    hits: Sequence[object],
    pictures: Mapping[str, Picture],
    links: Mapping[str, str] = MappingProxyType({}),
    not_known: str = "",
) -> str:
    """The hits of a search as HTML, everything escaped.

    pictures: by item id, one for every hit. links: by item id, where a hit can be watched; only those of http(s) and
    of local files become links. not_known: the words of the query that the model does not know, in a line.
    """
    shown = {item_id: link for item_id, link in links.items() if link.startswith(("http://", "https://", "file://"))}
    values = {"query": query, "scoring": scoring, "data": data, "hits": hits, "pictures": pictures, "links": shown}
    values["not_known"] = not_known
    return _environment().get_template("hits.html").render(values)


def render_search(**values: object) -> str:
    """The page of search, which gets its data as JSON from the server."""
    return _environment().get_template("search.html").render(**values)


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = page_environment("vtr_core.retrieval")
    environment.filters.update(percent=percent, described=described, sized=sized)
    environment.globals["time_span"] = time_span
    return environment
