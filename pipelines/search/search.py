"""Search of an index for queries or for a file of topics."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Int64

from pipelines.arguments import check_counts
from pipelines.evaluation_inputs import device
from pipelines.report.json_result import print_json
from pipelines.report.links import print_link
from pipelines.search.flags import SearchFlags
from pipelines.search.results import Found, as_json, places_of, plain, print_csv, print_tables
from vtr_core import storage
from vtr_core.analysis.transforms import read_transform
from vtr_core.errors import ConfigError, InputError
from vtr_core.retrieval.explain.frames import KeyFrames, read_pictures
from vtr_core.retrieval.explain.page import render_hits
from vtr_core.retrieval.index.candidates import default_candidates
from vtr_core.retrieval.index.index import load_index
from vtr_core.retrieval.index.record import Backend, IndexRecord
from vtr_core.retrieval.search.filters import meeting, parse_conditions
from vtr_core.retrieval.search.hit import Hit
from vtr_core.retrieval.search.index import key_frames, searcher
from vtr_core.retrieval.search.queries import not_known, unknown_words
from vtr_core.retrieval.search.runs import (
    RankedTopic,
    TopicScore,
    inferred_scores,
    mean_score,
    parse_judgements,
    run_lines,
)
from vtr_core.retrieval.search.searcher import Searcher, SearchOptions
from vtr_core.retrieval.search.topics import parse_topics
from vtr_core.retrieval.spaces import dual_spaces_of
from vtr_core.storage import check_file_writable, check_writable, locate
from vtr_core.train.checkpoint.load import LoadedModel, load_model

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
    loaded = load_model(flags.checkpoint or found.record.checkpoint, device())
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
