"""Rankings of many topics: TREC run files, and inferred average precision from sampled judgements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vtr_core.errors import InputError
from vtr_core.metrics.inferred import Judgement, inferred_average_precision
from vtr_core.retrieval.search.topics import Topic

_RELEVANT = {"1": True, "0": False, "-1": None}
_WHOLE_POOL = "all"


@dataclass(frozen=True)
class RankedTopic:
    """The items found for a topic, best first, with their scores."""

    topic: Topic
    items: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class TopicScore:
    """infAP of a topic, and the estimated number of relevant items."""

    topic_id: str
    value: float
    num_relevant: float


def run_lines(rankings: Sequence[RankedTopic], name: str) -> str:
    """A TREC run: "topic Q0 item rank score name", ranks from 1."""
    lines = [
        f"{ranking.topic.topic_id} Q0 {_word(item)} {rank} {score:.9g} {name}"
        for ranking in rankings
        for rank, (item, score) in enumerate(ranking.items, start=1)
    ]
    return "".join(f"{line}\n" for line in lines)


def _word(item: str) -> str:
    """The id, checked for the format: InputError for ids with white space."""
    if not item or item.split() != [item]:
        raise InputError(f"the item {item!r} cannot be written to a TREC run: its id has white space")
    return item


def parse_judgements(content: bytes, where: str) -> dict[str, dict[str, Judgement]]:
    """Judgements by topic and item: lines "topic 0 item stratum judgement" (1 relevant, 0 not, −1 not judged).

    Lines without a stratum, "topic 0 item judgement", belong to a single one. Raises InputError for any other line.
    """
    pools: dict[str, dict[str, Judgement]] = {}
    for number, line in enumerate(content.decode("utf-8-sig", errors="replace").splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if len(words) not in (4, 5) or words[-1] not in _RELEVANT:
            raise InputError(
                f"{where}, line {number}: {line.strip()!r} is no judgement; "
                "write: topic 0 item stratum judgement, the judgement 1, 0 or -1"
            )
        stratum = words[3] if len(words) == 5 else _WHOLE_POOL
        pools.setdefault(words[0], {})[words[2]] = Judgement(stratum, _RELEVANT[words[-1]])
    if not pools:
        raise InputError(f"{where} holds no judgement")
    return pools


def inferred_scores(
    rankings: Sequence[RankedTopic], pools: Mapping[str, Mapping[str, Judgement]], depth: int
) -> list[TopicScore]:
    """infAP of every topic that has judgements, in the order of the rankings; 0 for an empty ranking.

    TRECVID's judgements call topic 501 of its topic file 1501, so ids are also looked up with a prefixed 1, unless that
    is another topic's id. Raises InputError where no topic has judgements.
    """
    scores, known = [], {ranking.topic.topic_id for ranking in rankings}
    for ranking in rankings:
        prefixed = f"1{ranking.topic.topic_id}"
        pool = pools.get(ranking.topic.topic_id) or (None if prefixed in known else pools.get(prefixed))
        if pool is not None:
            found = inferred_average_precision([item for item, _ in ranking.items], pool, max_results=depth)
            scores.append(TopicScore(ranking.topic.topic_id, found.value, found.num_relevant))
    if not scores:
        given = f"topics {rankings[0].topic.topic_id} …" if rankings else "no topics"
        raise InputError(f"no topic has judgements: they are of {', '.join(sorted(pools)[:3])} …, the run of {given}")
    return scores


def mean_score(scores: Sequence[TopicScore]) -> float:
    """The mean over topics."""
    return sum(score.value for score in scores) / len(scores)
