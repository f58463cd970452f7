"""Topics of ad-hoc video search: files of queries, TREC run files, and scores by sampled judgements."""

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vtr_core.errors import InputError
from vtr_core.metrics.average_precision import Judgement, inferred_average_precision

_NUMBERS = ("num", "number", "id", "topicnumber", "topicid")
_TEXTS = ("text", "textdescription", "description", "desc", "title", "query", "topictext")
_PREFIX = re.compile(r"^find\s+shots?\s+of\s+", re.IGNORECASE)
_WHITE = re.compile(r"\s+")


@dataclass(frozen=True)
class Topic:
    """A query with its id in the judgements."""

    topic_id: str
    text: str


def parse_topics(content: bytes, where: str) -> tuple[Topic, ...]:
    """The topics of a file: TRECVID's XML, or one "id text" in each line; a leading "Find shots of" is removed.

    In XML a topic is an element with a number and a text, each an attribute or a child (num, number, id; text,
    textDescription, description, title). Empty lines and lines that begin with # are skipped. Raises InputError for a
    file without topics, a line without a text, an id that occurs twice, and for XML that is damaged or declares
    entities.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8 ({error}); topics are text or XML") from error
    topics = _from_xml(text, where) if text.lstrip().startswith("<") else _from_lines(text, where)
    if not topics:
        raise InputError(f"{where} holds no topic; each is a line of an id and a text, or a numbered element of XML")
    twice = [topic_id for topic_id, count in Counter(topic.topic_id for topic in topics).items() if count > 1]
    if twice:
        raise InputError(f"{where}: topic {twice[0]} occurs more than once")
    return tuple(topics)


def _from_lines(text: str, where: str) -> list[Topic]:
    topics = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        topic_id, _, query = line.strip().partition("\t" if "\t" in line.strip() else " ")
        if not query.strip():
            raise InputError(f"{where}, line {number}: {line.strip()!r} is no topic; write an id, a space and the text")
        topics.append(Topic(topic_id.strip(), _plain(query)))
    return topics


def _from_xml(text: str, where: str) -> list[Topic]:
    if "<!ENTITY" in text:
        raise InputError(f"{where} declares entities, which topics do not need; remove them")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(f"{where} is damaged XML ({error})") from error
    topics = (_topic(element) for element in root.iter())
    return [topic for topic in topics if topic is not None]


def _topic(element: ElementTree.Element) -> Topic | None:
    """The topic of an element with number and text; None for other elements."""
    values = {name.lower(): value for name, value in element.attrib.items()}
    for child in element:
        name = str(child.tag).rsplit("}", 1)[-1].lower()
        values.setdefault(name, child.text or child.attrib.get("text") or child.attrib.get("value") or "")
    number = next((values[name].strip() for name in _NUMBERS if values.get(name, "").strip()), "")
    query = next((_plain(values[name]) for name in _TEXTS if values.get(name, "").strip()), "")
    return Topic(number, query) if number and query else None


def _plain(text: str) -> str:
    return _PREFIX.sub("", _WHITE.sub(" ", text).strip())


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
            inferred = inferred_average_precision([item for item, _ in ranking.items], pool, max_results=depth)
            scores.append(TopicScore(ranking.topic.topic_id, inferred.value, inferred.num_relevant))
    if not scores:
        topics = f"topics {rankings[0].topic.topic_id} …" if rankings else "no topics"
        raise InputError(f"no topic has judgements: they are of {', '.join(sorted(pools)[:3])} …, the run of {topics}")
    return scores


def mean_score(scores: Sequence[TopicScore]) -> float:
    """The mean over topics."""
    return sum(score.value for score in scores) / len(scores)
