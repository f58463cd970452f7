"""Search of an index for queries or for a file of topics; hits as a table in the terminal, as JSON, as CSV."""

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Int64
from rich.table import Table
from rich.text import Text

from pipelines.arguments import check_counts, print_json
from pipelines.evaluation_inputs import device
from pipelines.report.printed_page import print_link, show
from pipelines.search.command import SearchFlags
from pipelines.systems.registry import SYSTEMS
from vtr_core import storage
from vtr_core.analysis.transforms import read_transform
from vtr_core.errors import ConfigError, InputError, one_line
from vtr_core.fingerprint import key64
from vtr_core.retrieval.explain.html_pages import render_hits
from vtr_core.retrieval.explain.key_frames import KeyFrames, read_pictures
from vtr_core.retrieval.index.candidates import default_candidates
from vtr_core.retrieval.index.index import Backend, IndexRecord, load_index
from vtr_core.retrieval.index.windows import WindowFrames
from vtr_core.retrieval.search.filters import meeting, parse_conditions
from vtr_core.retrieval.search.index_search import Hit, Searcher, SearchOptions, key_frames, link_of, searcher
from vtr_core.retrieval.search.topics import (
    RankedTopic,
    TopicScore,
    inferred_scores,
    mean_score,
    parse_judgements,
    parse_topics,
    run_lines,
)
from vtr_core.storage import Location, check_file_writable, check_writable, locate
from vtr_core.systems.spaces import dual_spaces_of, not_known, unknown_words
from vtr_core.time_span import time_span
from vtr_core.train.checkpoint.trained_model import LoadedModel, read_model

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


_DEPTH = 1000
_RUN_NAME = "vtr"


@dataclass(frozen=True)
class _Search:
    """What is searched, by what, and which of its items may be found."""

    flags: SearchFlags
    record: IndexRecord
    loaded: LoadedModel
    ready: Searcher
    among: Int64[np.ndarray, " chosen"] | None
    """Positions of the items that meet the filters; None without one."""

    def hits(self, texts: Sequence[str]) -> list[tuple[Hit, ...] | None]:
        return self.ready.search(texts, _k(self.flags), self.among)

    @property
    def scoring(self) -> str:
        if self.among is None:
            return self.ready.description
        all_of_them = "" if self.record.backend == "exact" else ", all of which are compared"
        return f"{self.ready.description}; {len(self.among)} meet the filter{all_of_them}"

    def head(self) -> dict[str, object]:
        return {"checkpoint": self.record.checkpoint, "data": self.record.data, "scoring": self.scoring}


def search(flags: SearchFlags) -> None:
    """Rank the videos of the index and print them."""
    _check(flags)
    conditions = parse_conditions(flags.filter)
    found = load_index(locate(flags.index))
    frames = key_frames(flags.index, found.record)
    loaded = read_model(flags.checkpoint or found.record.checkpoint, SYSTEMS, device())
    ready = searcher(found, loaded, _options(flags, loaded, found.record.backend))
    asked = _Search(flags, found.record, loaded, ready, meeting(found.items, conditions))
    if flags.topics is None:
        _answer(asked, frames)
    else:
        _batch(asked)


def _check(flags: SearchFlags) -> None:
    if bool(flags.query) == (flags.topics is not None):
        raise ConfigError("vtr search: give queries, each in quotes, or --topics FILE")
    if not all(query.strip() for query in flags.query):
        raise ConfigError("vtr search: a query is empty; say what the video shows")
    if flags.page is not None and len(flags.query) != 1:
        raise ConfigError("vtr search: --page is for one query; leave it out for several and in batch mode")
    if flags.topics is not None and (flags.csv or flags.link is not None or flags.thumbnails is not None):
        raise ConfigError("vtr search: --csv, --link and --thumbnails are not for batch mode; it has --run and --json")
    if flags.csv and flags.json:
        raise ConfigError("vtr search: give --json or --csv")
    if flags.thumbnails is not None:
        check_writable(locate(flags.thumbnails))
    if flags.topics is None and (flags.run is not None or flags.judgements is not None):
        raise ConfigError("vtr search: --run and --judgements belong to batch mode; give --topics FILE")
    for file in (flags.page, flags.run):
        if file is not None:
            check_file_writable(locate(file))
    check_counts("vtr search", k=flags.k, candidates=flags.candidates)


def _options(flags: SearchFlags, loaded: LoadedModel, backend: Backend) -> SearchOptions:
    transform = None
    if flags.transform is not None:
        spaces = dual_spaces_of(loaded, "--transform, which changes concepts,")
        transform = read_transform(flags.transform, spaces.concept_similarity(loaded.config))
    return SearchOptions(
        space=flags.space,
        latent_weight=flags.latent_weight,
        normalise=flags.normalise,
        transform=transform,
        candidates=max(flags.candidates or default_candidates(backend), _k(flags)),
    )


def _k(flags: SearchFlags) -> int:
    return flags.k or (10 if flags.topics is None else _DEPTH)


def _answer(search: _Search, thumbnails: KeyFrames | None) -> None:
    """Answer the queries of the command line."""
    flags = search.flags
    unknown = search.loaded.vocabulary.unknown_words
    found = [
        Found(query, hits, unknown(query)) for query, hits in zip(flags.query, search.hits(flags.query), strict=True)
    ]
    if all(one.hits is None for one in found):
        raise unknown_words(flags.query[0], search.loaded)
    folder = None if flags.thumbnails is None else locate(flags.thumbnails)
    places = places_of(found, flags.link, folder, thumbnails)
    if flags.page is not None:
        page = _page(found[0], search, thumbnails, places.links)
        storage.write_bytes(locate(flags.page), page.encode())
    if flags.json:
        answers = as_json(found, places)
        print_json({**search.head(), **(answers[0] if len(answers) == 1 else {"queries": answers})})
        return
    if flags.csv:
        print_csv(found, places)
        return
    print(search.scoring)
    print_tables(found, places, search.record.kind == "joint")
    if flags.thumbnails is not None:
        print(f"thumbnails  {len(places.thumbnails)} in {flags.thumbnails}")
    if flags.page is not None:
        print(f"page        {flags.page}")
        print_link(locate(flags.page))


def _page(found: Found, search: _Search, thumbnails: KeyFrames | None, links: Mapping[str, str]) -> str:
    hits = found.hits or ()
    pictures = read_pictures(None, [hit.item_id for hit in hits], thumbnails)
    unknown = not_known(found.not_known)
    return render_hits(found.query, search.scoring, search.record.data, hits, pictures, links, unknown)


def _batch(search: _Search) -> None:
    flags = search.flags
    assert flags.topics is not None
    topics = parse_topics(_read(flags.topics), flags.topics)
    pools = None if flags.judgements is None else parse_judgements(_read(flags.judgements), flags.judgements)
    found = search.hits([topic.text for topic in topics])
    if all(hits is None for hits in found):
        raise unknown_words(topics[0].text, search.loaded)
    rankings = [
        RankedTopic(topic, tuple((hit.item_id, hit.score) for hit in hits or ()))
        for topic, hits in zip(topics, found, strict=True)
    ]
    if flags.run is not None:
        storage.write_bytes(locate(flags.run), run_lines(rankings, _RUN_NAME).encode())
    scores = None if pools is None else inferred_scores(rankings, pools, _DEPTH)
    if flags.json:
        print_json({**search.head(), **_batch_json(rankings, scores)})
        return
    print(search.scoring)
    _print_batch(rankings, scores)
    if flags.run is not None:
        print(f"run         {flags.run}")


def _read(uri: str) -> bytes:
    try:
        return storage.read_bytes(locate(uri))
    except FileNotFoundError as error:
        raise InputError(f"{uri} does not exist") from error
    except OSError as error:
        raise InputError(f"{uri} cannot be read ({error})") from error


def _print_batch(rankings: Sequence[RankedTopic], scores: Sequence[TopicScore] | None) -> None:
    for ranking in rankings:
        if not ranking.items:
            topic = ranking.topic
            print(f"topic {plain(topic.topic_id)}: no word of {plain(topic.text)!r} is known; nothing found")
    print(f"{len(rankings)} topics, {sum(len(ranking.items) for ranking in rankings)} results")
    for score in scores or ():
        print(f"{plain(score.topic_id):>12}  infAP {score.value:.4f}  ({score.num_relevant:.1f} relevant, estimated)")
    if scores:
        print(f"{'mean':>12}  infAP {mean_score(scores):.4f}  over {len(scores)} topics")


def _batch_json(rankings: Sequence[RankedTopic], scores: Sequence[TopicScore] | None) -> dict[str, object]:
    topics = [
        {"topic": ranking.topic.topic_id, "text": ranking.topic.text, "items": [list(item) for item in ranking.items]}
        for ranking in rankings
    ]
    judged = {} if scores is None else {"infap": mean_score(scores), "scores": [asdict(score) for score in scores]}
    return {"topics": topics, **judged}
