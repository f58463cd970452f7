"""infAP of a dual encoder on TRECVID's ad-hoc video search (Table 3.4), and numbers of topics (Table 3.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from vtr_core import storage
from vtr_core.data.records.required_kind import require_videos
from vtr_core.data.shards.checks import usable
from vtr_core.errors import ConfigError, InputError
from vtr_core.retrieval.index.build import build_index
from vtr_core.retrieval.search.index import searcher
from vtr_core.retrieval.search.runs import RankedTopic, inferred_scores, mean_score, parse_judgements
from vtr_core.retrieval.search.searcher import SearchOptions
from vtr_core.retrieval.search.topics import Topic, parse_topics
from vtr_core.storage import locate
from vtr_core.train.checkpoint.load import load_model

NAME = "avs"
YEARS = tuple(range(2016, 2022))
_DEPTH = 1000


@dataclass(frozen=True)
class AvsYear:
    """The collection, topics and judgements of a year."""

    year: int
    data: str
    topics: str
    judgements: str


def parse_year(word: str) -> AvsYear:
    """2016=COLLECTION,TOPICS,JUDGEMENTS; ConfigError for anything else."""
    year, equals, rest = word.partition("=")
    parts = rest.split(",")
    if not equals or year not in map(str, YEARS) or len(parts) != 3 or not all(parts):
        raise ConfigError(
            f"--avs {word!r}: write YEAR=COLLECTION,TOPICS,JUDGEMENTS, a year from {YEARS[0]} to {YEARS[-1]}, a data "
            "set and two files"
        )
    return AvsYear(int(year), *parts)


def avs_figures(checkpoint: str, years: Sequence[AvsYear]) -> dict[str, float]:
    """The mean infAP of every year by its metric name, avs/2016 …, and of the years, avs/overall, in percent.

    Topics are searched in all spaces that the model has; one without a known word has an infAP of 0.
    """
    loaded = load_model(checkpoint, "cpu")
    found = {}
    for data in dict.fromkeys(one.data for one in years):
        ready = searcher(build_index(loaded, usable(data, require_videos), "exact"), loaded, SearchOptions())
        for one in years:
            if one.data == data:
                topics = read_topics(one.topics)
                hits = ready.search([topic.text for topic in topics], _DEPTH)
                rankings = [
                    RankedTopic(topic, tuple((hit.item_id, hit.score) for hit in items or ()))
                    for topic, items in zip(topics, hits, strict=True)
                ]
                pools = parse_judgements(_read(one.judgements), one.judgements)
                found[f"{NAME}/{one.year}"] = 100 * mean_score(inferred_scores(rankings, pools, _DEPTH))
    return {**found, f"{NAME}/overall": fmean(found.values())}


def read_topics(uri: str) -> tuple[Topic, ...]:
    """The topics of a file."""
    return parse_topics(_read(uri), uri)


def num_topics(files: Mapping[str, str]) -> dict[str, dict[str, tuple[float, ...]]]:
    """Numbers of topics by the variants of Table 3.1; several files of a collection are joined by commas."""
    return {
        f"data-{name}": {"data/topics": (float(sum(len(read_topics(uri)) for uri in uris.split(","))),)}
        for name, uris in files.items()
    }


def _read(uri: str) -> bytes:
    try:
        return storage.read_bytes(locate(uri))
    except OSError as error:
        raise InputError(f"{uri} cannot be read ({error}); give a file of topics or judgements") from error
