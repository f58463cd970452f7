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
from pipelines.report.figures import print_link, show
from pipelines.search.command import SearchFlags
from pipelines.systems.registry import SYSTEMS
from vtr_core import storage
from vtr_core.analysis.transforms import read_transform
from vtr_core.errors import ConfigError, InputError, one_line
from vtr_core.retrieval.explain.pages import KeyFrames, read_pictures, render_hits
from vtr_core.retrieval.index.index import IndexRecord, load_index
from vtr_core.retrieval.index.windows import WindowFrames
from vtr_core.retrieval.search.filters import meeting, parse_conditions
from vtr_core.retrieval.search.index_search import (
    Hit,
    Searcher,
    SearchOptions,
    key_frames,
    link_of,
    searcher,
)
from vtr_core.retrieval.search.topics import (
    RankedTopic,
    TopicScore,
    inferred_scores,
    mean_score,
    parse_judgements,
    parse_topics,
    run_lines,
)
from vtr_core.storage import check_file_writable, locate
from vtr_core.systems.spaces import dual_spaces_of, not_known, unknown_words
from vtr_core.time_span import time_span
from vtr_core.train.checkpoint.trained_model import LoadedModel, read_stated_model

_COLUMNS = ("query", "rank", "item_id", "video_id", "score", "latent", "concept", "start", "end", "caption", "link")
_CAPTION = 60
"""Characters of a caption in the terminal."""
_DEPTH = 1000
_RUN_NAME = "vtr"


@dataclass(frozen=True)
class QueryHits:
    """A query with its hits; None where no word of it is known."""

    query: str
    hits: tuple[Hit, ...] | None
    not_known: tuple[str, ...] = ()
    """Words of the query that the model does not know."""


@dataclass(frozen=True)
class _Search:
    """What is searched, by what, and which of its items may be found."""

    flags: SearchFlags
    record: IndexRecord
    loaded: LoadedModel
    searcher: Searcher
    among: Int64[np.ndarray, " chosen"] | None
    """Positions of the items that meet the filters; None without one."""

    @property
    def scoring(self) -> str:
        if self.among is None:
            return self.searcher.description
        all_of_them = "" if self.record.backend == "exact" else ", all of which are compared"
        return f"{self.searcher.description}; {len(self.among)} meet the filter{all_of_them}"

    def head(self) -> dict[str, object]:
        return {"checkpoint": self.record.checkpoint, "data": self.record.data, "scoring": self.scoring}


def search(flags: SearchFlags) -> None:
    """Rank the videos of the index and print them."""
    _check(flags)
    conditions = parse_conditions(flags.filter) if flags.filter else ()
    index = load_index(locate(flags.index))
    frames = key_frames(flags.index, index.record)  # an error where the data set was made anew since it was indexed
    loaded = read_stated_model(flags.checkpoint, index.record.checkpoint, flags.index, SYSTEMS, None)
    transform = None
    if flags.transform is not None:
        spaces = dual_spaces_of(loaded, "--transform, which changes concepts,")
        transform = read_transform(flags.transform, spaces.concept_similarity(loaded.config))
    k = flags.k or (10 if flags.topics is None else _DEPTH)
    options = SearchOptions(flags.space, flags.latent_weight, flags.normalise, transform, flags.candidates)
    among = meeting(index.items, conditions) if conditions else None
    running = _Search(flags, index.record, loaded, searcher(index, loaded, options), among)
    if flags.topics is None:
        _answer(running, frames, running.searcher.search(flags.query, k, among))
        return
    topics = parse_topics(_read(flags.topics), flags.topics)
    hits = running.searcher.search([topic.text for topic in topics], k, among)
    if all(of_topic is None for of_topic in hits):
        raise unknown_words(topics[0].text, loaded)
    items = [tuple((hit.item_id, hit.score) for hit in of_topic or ()) for of_topic in hits]
    _write_run(running, [RankedTopic(topic, best) for topic, best in zip(topics, items, strict=True)])


def _check(flags: SearchFlags) -> None:
    if bool(flags.query) == (flags.topics is not None):
        raise ConfigError("vtr search: give queries, each in quotes, or --topics FILE")
    if not all(query.strip() for query in flags.query):
        raise ConfigError("vtr search: a query is empty; say what the video shows")
    if flags.page is not None and len(flags.query) != 1:
        raise ConfigError("vtr search: --page is for one query; leave it out for several and in batch mode")
    if flags.topics is not None and (flags.csv or flags.link is not None):
        raise ConfigError("vtr search: --csv and --link are not for batch mode; it has --run and --json")
    if flags.csv and flags.json:
        raise ConfigError("vtr search: give --json or --csv")
    if flags.topics is None and (flags.run is not None or flags.judgements is not None):
        raise ConfigError("vtr search: --run and --judgements belong to batch mode; give --topics FILE")
    for file in (flags.page, flags.run):
        if file is not None:
            check_file_writable(locate(file))
    check_counts("vtr search", k=flags.k, candidates=flags.candidates)


def _answer(search: _Search, frames: KeyFrames | None, hits: Sequence[tuple[Hit, ...] | None]) -> None:
    """Print the answers to the queries of the command line."""
    flags, unknown = search.flags, search.loaded.vocabulary.unknown_words
    answers = [QueryHits(query, best, unknown(query)) for query, best in zip(flags.query, hits, strict=True)]
    if all(answer.hits is None for answer in answers):
        raise unknown_words(flags.query[0], search.loaded)
    links = links_of(answers, flags.link, frames)
    if flags.page is not None:
        page = _page(answers[0], search, frames, links)
        storage.write_bytes(locate(flags.page), page.encode())
    if flags.json:
        values = [
            {
                "query": answer.query,
                "not_known": answer.not_known,
                "hits": None if answer.hits is None else [_as_json(hit, links) for hit in answer.hits],
            }
            for answer in answers
        ]
        print_json({**search.head(), **(values[0] if len(values) == 1 else {"queries": values})})
        return
    if flags.csv:
        print_csv(answers, links)
        return
    print(search.scoring)
    print_tables(answers, links, search.record.kind == "joint")
    if flags.page is not None:
        print(f"page        {flags.page}")
        print_link(locate(flags.page))


def links_of(answers: Sequence[QueryHits], template: str | None, frames: KeyFrames | None) -> dict[str, str]:
    """Where hits can be seen, by item id."""
    hits = {hit.item_id: hit for answer in answers for hit in answer.hits or ()}
    if template is None and isinstance(frames, WindowFrames):
        return frames.links(hits)
    links = {item_id: link_of(hit, template) for item_id, hit in hits.items()}
    return {item_id: link for item_id, link in links.items() if link is not None}


def _as_json(hit: Hit, links: Mapping[str, str]) -> dict[str, Any]:
    return {**hit.to_json(), "link": links.get(hit.item_id)}


def _page(answer: QueryHits, search: _Search, frames: KeyFrames | None, links: Mapping[str, str]) -> str:
    hits = answer.hits or ()
    pictures = read_pictures(None, [hit.item_id for hit in hits], frames)
    unknown = not_known(answer.not_known)
    return render_hits(answer.query, search.scoring, search.record.data, hits, pictures, links, unknown)


def print_csv(answers: Sequence[QueryHits], links: Mapping[str, str]) -> None:
    """Print a row for each hit: what it is, where it is seen, and its kept columns, as `kept_<name>`."""
    hits = [(answer, hit) for answer in answers for hit in answer.hits or ()]
    columns = list(dict.fromkeys(name for _, hit in hits for name in hit.metadata))
    names = [*_COLUMNS, "not_known", *(f"kept_{name}" for name in columns)]
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for answer, hit in hits:
        values = {f"kept_{name}": text for name, text in hit.metadata.items()}
        query = {"query": answer.query, "not_known": " ".join(answer.not_known)}
        writer.writerow({**query, **_as_json(hit, links), **values})


def print_tables(answers: Sequence[QueryHits], links: Mapping[str, str], joint: bool) -> None:
    """Print a table for each query; texts of data are not interpreted as markup, nor as control of the terminal."""
    for answer in answers:
        if len(answers) > 1:
            print(f"\n{one_line(answer.query)}")
        if answer.hits is None:
            print(f"no word of {one_line(answer.query)!r} is known; nothing found")
        else:
            show([_table(answer.hits, links, joint)])
            if answer.not_known:
                print(not_known(answer.not_known))


def _table(hits: Sequence[Hit], links: Mapping[str, str], joint: bool) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    columns = {name: cells for name, cells in _cells(hits, links, joint) if any(map(str, cells))}
    for name in columns:
        folded = name in ("clip", "video", "contributes", "caption", "link")
        table.add_column(name, justify="left" if folded or name == "time" else "right", overflow="fold")
    for row in range(len(hits)):
        table.add_row(*(cells[row] for cells in columns.values()))
    return table


def _cells(hits: Sequence[Hit], links: Mapping[str, str], joint: bool) -> Iterator[tuple[str, list[str | Text]]]:
    """The columns of the table; those without a text in any row are not shown."""
    yield "rank", [str(hit.rank) for hit in hits]
    yield "clip" if joint else "video", [Text(one_line(hit.item_id)) for hit in hits]
    yield "time", [time_span(hit.start, hit.end) for hit in hits]
    yield "score", [f"{hit.score:.4f}" for hit in hits]
    if any(hit.latent is not None and hit.concept is not None for hit in hits):
        yield "latent", [f"{hit.latent:.4f}" for hit in hits]
        yield "concept", [f"{hit.concept:.4f}" for hit in hits]
    captions = (one_line(hit.caption or "") for hit in hits)
    yield "caption", [Text(c if len(c) <= _CAPTION else f"{c[: _CAPTION - 1]}…") for c in captions]
    yield "contributes", [Text(one_line(", ".join(f"{tag.name} {tag.shown}" for tag in hit.tags))) for hit in hits]
    shown = (links.get(hit.item_id, "") for hit in hits)  # a local file's says what its clip's name does
    yield "link", [Text("" if link.startswith("file:") else one_line(link)) for link in shown]


def _read(uri: str) -> bytes:
    try:
        return storage.read_bytes(locate(uri))
    except FileNotFoundError as error:
        raise InputError(f"{uri} does not exist") from error
    except OSError as error:
        raise InputError(f"{uri} cannot be read ({error})") from error


def _write_run(search: _Search, rankings: Sequence[RankedTopic]) -> None:
    """Write the rankings of topics as a TREC run, score them where there are judgements, and print both."""
    flags, scores = search.flags, list[TopicScore]()
    if flags.judgements is not None:
        scores = inferred_scores(rankings, parse_judgements(_read(flags.judgements), flags.judgements), _DEPTH)
    if flags.run is not None:
        storage.write_bytes(locate(flags.run), run_lines(rankings, _RUN_NAME).encode())
    if flags.json:
        topics = [
            {"topic": each.topic.topic_id, "text": each.topic.text, "items": [list(item) for item in each.items]}
            for each in rankings
        ]
        judged = {"infap": mean_score(scores), "scores": [asdict(score) for score in scores]} if scores else {}
        print_json({**search.head(), "topics": topics, **judged})
        return
    print(search.scoring)
    for ranking in rankings:
        if not ranking.items:
            topic = ranking.topic
            print(f"topic {one_line(topic.topic_id)}: no word of {one_line(topic.text)!r} is known; nothing found")
    print(f"{len(rankings)} topics, {sum(len(ranking.items) for ranking in rankings)} results")
    for score in scores:
        print(
            f"{one_line(score.topic_id):>12}  infAP {score.value:.4f}  ({score.num_relevant:.1f} relevant, estimated)"
        )
    if scores:
        print(f"{'mean':>12}  infAP {mean_score(scores):.4f}  over {len(scores)} topics")
    if flags.run is not None:
        print(f"run         {flags.run}")
