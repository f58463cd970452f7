"""`vtr search "a query" --index URI`: the best videos of an index, for one query or for a file of topics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from pipelines.arguments import parse, print_help, wants_help
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.retrieval.index.index import IndexRecord
    from vtr_core.retrieval.search.index import Hit, Searcher, SearchOptions
    from vtr_core.retrieval.search.runs import RankedTopic, TopicScore
    from vtr_core.train.checkpoint.load import LoadedModel

_DEPTH = 1000
_RUN_NAME = "vtr"


@dataclass(frozen=True)
class SearchFlags:
    """What to search for, where, and how."""

    query: Annotated[str | None, tyro.conf.Positional] = None
    """What the video shows, in words; in batch mode --topics instead."""
    index: str = tyro.MISSING
    """An index that vtr index made."""
    k: int | None = None
    """Hits: 10, in batch mode 1000."""
    space: Literal["hybrid", "latent", "concept"] | None = None
    """Of a dual encoder: both spaces, or one of them (default: all that the model has)."""
    candidates: int = 200
    """Videos taken from latent space, by which hybrid ranks; in batch mode at least k."""
    latent_weight: float | None = None
    """Share of latent space in the hybrid score (default: as the model is evaluated)."""
    normalise: Literal["query", "train"] = "query"
    """What scales both spaces for the hybrid score: all scores of the query, or the training scores."""
    transform: str | None = None
    """transform.json of vtr analyze causality: concepts are compared by sharper scores."""
    checkpoint: str | None = None
    """Where the model is, if no longer where the index says."""
    topics: str | None = None
    """Batch mode: a file of topics, TRECVID's XML or a line of id and text each."""
    run: str | None = None
    """Batch mode: write the rankings to this file, as a TREC run."""
    judgements: str | None = None
    """Batch mode: sampled judgements (topic 0 item stratum judgement), for inferred average precision."""
    page: str | None = None
    """Also write the hits to this HTML file, with the data set's thumbnails where it has them."""
    json: bool = False
    """Print JSON."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr search", SearchFlags)
        return
    search(parse(SearchFlags, argv, "vtr search"))


def search(flags: SearchFlags) -> None:
    """Find and print."""
    from pipelines.evaluation_inputs import device
    from vtr_core.data.manifest import Manifest
    from vtr_core.retrieval.index.index import load_index
    from vtr_core.retrieval.search.index import check_data, searcher
    from vtr_core.storage import locate
    from vtr_core.train.checkpoint.load import load_model

    _check(flags)
    found = load_index(locate(flags.index))
    manifest = Manifest.load(found.record.data) if check_data(found.record) else None
    loaded = load_model(flags.checkpoint or found.record.checkpoint, device())
    ready = searcher(found, loaded, _options(flags, loaded))
    if flags.topics is None:
        _answer(flags, found.record, loaded, ready, manifest)
    else:
        _batch(flags, found.record, loaded, ready)


def _check(flags: SearchFlags) -> None:
    if (flags.query is None) == (flags.topics is None):
        raise ConfigError("vtr search: give one query in quotes, or --topics FILE for many")
    if flags.query is not None and not flags.query.strip():
        raise ConfigError("vtr search: the query is empty; say what the video shows")
    if flags.topics is not None and flags.page is not None:
        raise ConfigError("vtr search: --page is for one query; leave it out in batch mode")
    if flags.topics is None and (flags.run is not None or flags.judgements is not None):
        raise ConfigError("vtr search: --run and --judgements belong to batch mode; give --topics FILE")
    for name, value in (("k", flags.k), ("candidates", flags.candidates)):
        if value is not None and value < 1:
            raise ConfigError(f"vtr search: --{name} is {value}; it must be 1 or more")


def _options(flags: SearchFlags, loaded: "LoadedModel") -> "SearchOptions":
    from vtr_core.analysis.transforms import read_transform
    from vtr_core.retrieval.search.index import SearchOptions
    from vtr_core.retrieval.spaces import dual_spaces_of

    transform = None
    if flags.transform is not None:
        spaces = dual_spaces_of(loaded, "--transform, which changes concepts,")
        transform = read_transform(flags.transform, spaces.concept_similarity(loaded.config))
    return SearchOptions(
        space=flags.space,
        latent_weight=flags.latent_weight,
        normalise=flags.normalise,
        transform=transform,
        candidates=max(flags.candidates, _k(flags)),
    )


def _k(flags: SearchFlags) -> int:
    return flags.k or (10 if flags.topics is None else _DEPTH)


def _answer(
    flags: SearchFlags, record: "IndexRecord", loaded: "LoadedModel", ready: "Searcher", manifest: "Manifest | None"
) -> None:
    from pipelines.report.links import print_link
    from vtr_core.retrieval.search.queries import unknown_words
    from vtr_core.storage import locate

    assert flags.query is not None
    (hits,) = ready.search([flags.query], _k(flags))
    if hits is None:
        raise unknown_words(flags.query, loaded)
    if flags.page is not None:
        _write_page(flags.page, _page(flags.query, record, ready.description, hits, manifest))
    if flags.json:
        _print_json({**_head(record, ready), "query": flags.query, "hits": [hit.to_json() for hit in hits]})
        return
    print(f"{ready.description}")
    _print_hits(hits, record.kind == "joint")
    if flags.page is not None:
        print(f"page        {flags.page}")
        print_link(locate(flags.page))


def _page(query: str, record: "IndexRecord", scoring: str, hits: "Sequence[Hit]", manifest: "Manifest | None") -> str:
    from vtr_core.data.shards.thumbnails import Thumbnails
    from vtr_core.retrieval.explain.frames import read_pictures
    from vtr_core.retrieval.explain.page import render_hits

    pictures = read_pictures(None, [hit.item_id for hit in hits], None if manifest is None else Thumbnails(manifest))
    return render_hits(query, scoring, record.data, hits, pictures)


def _write_page(place: str, page: str) -> None:
    from vtr_core import storage
    from vtr_core.storage import locate

    storage.write_bytes(locate(place), page.encode())


def _batch(flags: SearchFlags, record: "IndexRecord", loaded: "LoadedModel", ready: "Searcher") -> None:
    from vtr_core import storage
    from vtr_core.retrieval.search.queries import unknown_words
    from vtr_core.retrieval.search.runs import RankedTopic, inferred_scores, parse_judgements, run_lines
    from vtr_core.retrieval.search.topics import parse_topics
    from vtr_core.storage import locate

    assert flags.topics is not None
    topics = parse_topics(_read(flags.topics), flags.topics)
    pools = None if flags.judgements is None else parse_judgements(_read(flags.judgements), flags.judgements)
    found = ready.search([topic.text for topic in topics], _k(flags))
    if all(hits is None for hits in found):
        raise unknown_words(topics[0].text, loaded)
    rankings = [
        RankedTopic(topic, tuple((hit.item_id, hit.score) for hit in hits or ()))
        for topic, hits in zip(topics, found, strict=True)
    ]
    if flags.run is not None:
        storage.write_bytes(locate(flags.run), run_lines(rankings, _RUN_NAME).encode())
    scores = None if pools is None else inferred_scores(rankings, pools, _DEPTH)
    if flags.json:
        _print_json({**_head(record, ready), **_batch_json(rankings, scores)})
        return
    print(ready.description)
    _print_batch(rankings, scores)
    if flags.run is not None:
        print(f"run         {flags.run}")


def _read(uri: str) -> bytes:
    from vtr_core import storage
    from vtr_core.errors import InputError
    from vtr_core.storage import locate

    try:
        return storage.read_bytes(locate(uri))
    except FileNotFoundError as error:
        raise InputError(f"{uri} does not exist") from error
    except OSError as error:
        raise InputError(f"{uri} cannot be read ({error})") from error


def _head(record: "IndexRecord", ready: "Searcher") -> dict[str, object]:
    return {"checkpoint": record.checkpoint, "data": record.data, "scoring": ready.description}


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=1))


def _print_hits(hits: "Sequence[Hit]", joint: bool) -> None:
    """Ranks, ids, scores and tags; ids and tags are data, not markup."""
    from rich.table import Table
    from rich.text import Text

    from pipelines.report.printed_page import show
    from vtr_core.time_span import time_span

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    both = any(hit.latent is not None and hit.concept is not None for hit in hits)
    tags = any(hit.tags for hit in hits)
    times = any(time_span(hit.start, hit.end) for hit in hits)
    table.add_column("rank", justify="right")
    table.add_column("clip" if joint else "video", overflow="fold")
    if times:
        table.add_column("time")
    for name in ("score", "latent", "concept") if both else ("score",):
        table.add_column(name, justify="right")
    if tags:
        table.add_column("contributes", overflow="fold")
    for hit in hits:
        cells: list[str | Text] = [str(hit.rank), Text(_plain(hit.item_id))]
        cells += [*([time_span(hit.start, hit.end)] if times else []), f"{hit.score:.4f}"]
        cells += [f"{hit.latent:.4f}", f"{hit.concept:.4f}"] if both else []
        cells += [Text(_plain(", ".join(f"{tag.name} {tag.shown}" for tag in hit.tags)))] if tags else []
        table.add_row(*cells)
    show([table])


def _plain(text: str) -> str:
    """Text as it can be printed: nothing in it steers the terminal."""
    from vtr_core.errors import one_line

    return one_line(text)


def _print_batch(rankings: "Sequence[RankedTopic]", scores: "Sequence[TopicScore] | None") -> None:
    from vtr_core.retrieval.search.runs import mean_score

    for ranking in rankings:
        if not ranking.items:
            topic = ranking.topic
            print(f"topic {_plain(topic.topic_id)}: no word of {_plain(topic.text)!r} is known; nothing found")
    print(f"{len(rankings)} topics, {sum(len(ranking.items) for ranking in rankings)} results")
    for score in scores or ():
        print(f"{_plain(score.topic_id):>12}  infAP {score.value:.4f}  ({score.num_relevant:.1f} relevant, estimated)")
    if scores:
        print(f"{'mean':>12}  infAP {mean_score(scores):.4f}  over {len(scores)} topics")


def _batch_json(rankings: "Sequence[RankedTopic]", scores: "Sequence[TopicScore] | None") -> dict[str, object]:
    from dataclasses import asdict

    from vtr_core.retrieval.search.runs import mean_score

    topics = [
        {"topic": ranking.topic.topic_id, "text": ranking.topic.text, "items": [list(item) for item in ranking.items]}
        for ranking in rankings
    ]
    judged = {} if scores is None else {"infap": mean_score(scores), "scores": [asdict(score) for score in scores]}
    return {"topics": topics, **judged}
