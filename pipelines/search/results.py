"""The hits of queries as a table in the terminal, as JSON, and as CSV."""

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from pipelines.report.printed_page import show
from vtr_core import storage
from vtr_core.errors import one_line
from vtr_core.fingerprint import key64
from vtr_core.retrieval.explain.frames import KeyFrames
from vtr_core.retrieval.index.window_index import WindowFrames
from vtr_core.retrieval.search.hit import Hit
from vtr_core.retrieval.search.links import link_of
from vtr_core.retrieval.search.queries import not_known
from vtr_core.storage import Location
from vtr_core.time_span import time_span

_JPEG = b"\xff\xd8\xff"
_COLUMNS = ("query", "rank", "item_id", "video_id", "score", "latent", "concept", "start", "end", "caption", "link")
_TOLD = 60
"""Characters of a caption in the terminal."""


@dataclass(frozen=True)
class Found:
    """A query with its hits; None where no word of it is known."""

    query: str
    hits: tuple[Hit, ...] | None
    not_known: tuple[str, ...] = ()
    """Words of the query that the model does not know."""


@dataclass(frozen=True)
class Places:
    """Where hits can be seen, by item id."""

    links: Mapping[str, str]
    thumbnails: Mapping[str, str]


def places_of(
    found: Sequence[Found], template: str | None, folder: Location | None, thumbnails: KeyFrames | None
) -> Places:
    """The links of all hits, and their thumbnails, which are written to `folder`, where one is given."""
    hits = {hit.item_id: hit for one in found for hit in one.hits or ()}
    if template is None and isinstance(thumbnails, WindowFrames):
        links: Mapping[str, str | None] = thumbnails.links(hits)
    else:
        links = {item_id: link_of(hit, template) for item_id, hit in hits.items()}
    written = {} if folder is None or thumbnails is None else _write(folder, thumbnails, list(hits))
    return Places({item_id: link for item_id, link in links.items() if link is not None}, written)


def _write(folder: Location, thumbnails: KeyFrames, item_ids: Sequence[str]) -> dict[str, str]:
    """Write the JPEGs that the data set has of these items; their places by item id."""
    written = {}
    for item_id, thumbnail in thumbnails.find(item_ids).items():
        if thumbnail.jpeg.startswith(_JPEG):
            place = folder / f"{key64(item_id) % 2**64:016x}.jpg"
            storage.write_bytes(place, thumbnail.jpeg)
            written[item_id] = place.uri
    return written


def as_json(found: Sequence[Found], places: Places) -> list[dict[str, Any]]:
    """The queries with their hits; `hits` is null where no word of a query is known."""
    return [
        {
            "query": one.query,
            "not_known": one.not_known,
            "hits": None if one.hits is None else [_hit_json(hit, places) for hit in one.hits],
        }
        for one in found
    ]


def _hit_json(hit: Hit, places: Places) -> dict[str, Any]:
    item = hit.item_id
    return {**hit.to_json(), "link": places.links.get(item), "thumbnail": places.thumbnails.get(item)}


def print_csv(found: Sequence[Found], places: Places) -> None:
    """Print a row for each hit: what it is, where it is seen, and its kept columns, as `kept_<name>`."""
    hits = [(one, hit) for one in found for hit in one.hits or ()]
    kept = list(dict.fromkeys(name for _, hit in hits for name in hit.metadata))
    names = [*_COLUMNS, "thumbnail", "not_known", *(f"kept_{name}" for name in kept)]
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for one, hit in hits:
        told = {f"kept_{name}": text for name, text in hit.metadata.items()}
        asked = {"query": one.query, "not_known": " ".join(one.not_known)}
        writer.writerow({**asked, **_hit_json(hit, places), **told})


def print_tables(found: Sequence[Found], places: Places, joint: bool) -> None:
    """Print a table for each query; texts of data are not interpreted as markup."""
    for one in found:
        if len(found) > 1:
            print(f"\n{plain(one.query)}")
        if one.hits is None:
            print(f"no word of {plain(one.query)!r} is known; nothing found")
        else:
            show([_table(one.hits, places, joint)])
            if one.not_known:
                print(not_known(one.not_known))


def _table(hits: Sequence[Hit], places: Places, joint: bool) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    columns = dict(_cells(hits, places, joint))
    shown = {name: cells for name, cells in columns.items() if any(map(str, cells))}
    for name in shown:
        folded = name in ("clip", "video", "contributes", "caption", "link")
        table.add_column(name, justify="left" if folded or name == "time" else "right", overflow="fold")
    for row in range(len(hits)):
        table.add_row(*(cells[row] for cells in shown.values()))
    return table


def _cells(hits: Sequence[Hit], places: Places, joint: bool) -> Iterator[tuple[str, list[str | Text]]]:
    """The columns of the table; those without a text in any row are not shown."""
    both = any(hit.latent is not None and hit.concept is not None for hit in hits)
    yield "rank", [str(hit.rank) for hit in hits]
    yield "clip" if joint else "video", [Text(plain(hit.item_id)) for hit in hits]
    yield "time", [time_span(hit.start, hit.end) for hit in hits]
    yield "score", [f"{hit.score:.4f}" for hit in hits]
    if both:
        yield "latent", [f"{hit.latent:.4f}" for hit in hits]
        yield "concept", [f"{hit.concept:.4f}" for hit in hits]
    yield "caption", [Text(_short(plain(hit.caption or ""))) for hit in hits]
    yield "contributes", [Text(plain(", ".join(f"{tag.name} {tag.shown}" for tag in hit.tags))) for hit in hits]
    links = (places.links.get(hit.item_id, "") for hit in hits)  # a local file's says what its clip's name does
    yield "link", [Text("" if link.startswith("file:") else plain(link)) for link in links]


def _short(text: str) -> str:
    return text if len(text) <= _TOLD else f"{text[: _TOLD - 1]}…"


def plain(text: str) -> str:
    """Text without control characters, which could control the terminal."""
    return one_line(text)
