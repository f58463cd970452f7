"""Search of an index for one query or for a file of topics, printed as a table or as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from pipelines.arguments import check_counts
from pipelines.evaluation_inputs import device
from pipelines.report.links import print_link
from pipelines.report.printed_page import show
from pipelines.search.command import SearchFlags
from vtr_core import storage
from vtr_core.analysis.transforms import read_transform
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.errors import ConfigError, InputError, one_line
from vtr_core.retrieval.explain.frames import read_pictures
from vtr_core.retrieval.explain.page import render_hits
from vtr_core.retrieval.index.index import IndexRecord, load_index
from vtr_core.retrieval.search.index import Hit, Searcher, SearchOptions, check_data, searcher
from vtr_core.retrieval.search.queries import unknown_words
from vtr_core.retrieval.search.runs import (
    RankedTopic,
    TopicScore,
    inferred_scores,
    mean_score,
    parse_judgements,
    run_lines,
)
from vtr_core.retrieval.search.topics import parse_topics
from vtr_core.retrieval.spaces import dual_spaces_of
from vtr_core.storage import locate
from vtr_core.time_span import time_span
from vtr_core.train.checkpoint.load import LoadedModel, load_model

_DEPTH = 1000
_RUN_NAME = "vtr"


def search(flags: SearchFlags) -> None:
    """Rank the videos of the index and print them."""
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
    check_counts("vtr search", k=flags.k, candidates=flags.candidates)


def _options(flags: SearchFlags, loaded: LoadedModel) -> SearchOptions:
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
    flags: SearchFlags, record: IndexRecord, loaded: LoadedModel, ready: Searcher, manifest: Manifest | None
) -> None:
    assert flags.query is not None
    (hits,) = ready.search([flags.query], _k(flags))
    if hits is None:
        raise unknown_words(flags.query, loaded)
    if flags.page is not None:
        page = _page(flags.query, record, ready.description, hits, manifest)
        storage.write_bytes(locate(flags.page), page.encode())
    if flags.json:
        _print_json({**_head(record, ready), "query": flags.query, "hits": [hit.to_json() for hit in hits]})
        return
    print(f"{ready.description}")
    _print_hits(hits, record.kind == "joint")
    if flags.page is not None:
        print(f"page        {flags.page}")
        print_link(locate(flags.page))


def _page(query: str, record: IndexRecord, scoring: str, hits: Sequence[Hit], manifest: Manifest | None) -> str:
    pictures = read_pictures(None, [hit.item_id for hit in hits], None if manifest is None else Thumbnails(manifest))
    return render_hits(query, scoring, record.data, hits, pictures)


def _batch(flags: SearchFlags, record: IndexRecord, loaded: LoadedModel, ready: Searcher) -> None:
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
    try:
        return storage.read_bytes(locate(uri))
    except FileNotFoundError as error:
        raise InputError(f"{uri} does not exist") from error
    except OSError as error:
        raise InputError(f"{uri} cannot be read ({error})") from error


def _head(record: IndexRecord, ready: Searcher) -> dict[str, object]:
    return {"checkpoint": record.checkpoint, "data": record.data, "scoring": ready.description}


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=1))


def _print_hits(hits: Sequence[Hit], joint: bool) -> None:
    """Print ranks, ids, scores and tags; ids and tags are not interpreted as markup."""
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
    """Text without control characters, which could control the terminal."""
    return one_line(text)


def _print_batch(rankings: Sequence[RankedTopic], scores: Sequence[TopicScore] | None) -> None:
    for ranking in rankings:
        if not ranking.items:
            topic = ranking.topic
            print(f"topic {_plain(topic.topic_id)}: no word of {_plain(topic.text)!r} is known; nothing found")
    print(f"{len(rankings)} topics, {sum(len(ranking.items) for ranking in rankings)} results")
    for score in scores or ():
        print(f"{_plain(score.topic_id):>12}  infAP {score.value:.4f}  ({score.num_relevant:.1f} relevant, estimated)")
    if scores:
        print(f"{'mean':>12}  infAP {mean_score(scores):.4f}  over {len(scores)} topics")


def _batch_json(rankings: Sequence[RankedTopic], scores: Sequence[TopicScore] | None) -> dict[str, object]:

    topics = [
        {"topic": ranking.topic.topic_id, "text": ranking.topic.text, "items": [list(item) for item in ranking.items]}
        for ranking in rankings
    ]
    judged = {} if scores is None else {"infap": mean_score(scores), "scores": [asdict(score) for score in scores]}
    return {"topics": topics, **judged}
