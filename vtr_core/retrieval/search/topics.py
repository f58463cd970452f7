"""Topics of ad-hoc video search: files of queries in TRECVID's XML or as plain lines."""

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass

from vtr_core.errors import InputError

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
    found = (_topic(element) for element in root.iter())
    return [topic for topic in found if topic is not None]


def _topic(element: ElementTree.Element) -> Topic | None:
    """The topic of an element with number and text; None for other elements."""
    values = {name.lower(): value for name, value in element.attrib.items()}
    for child in element:
        name = _local(child.tag)
        values.setdefault(name, child.text or child.attrib.get("text") or child.attrib.get("value") or "")
    number = next((values[name].strip() for name in _NUMBERS if values.get(name, "").strip()), "")
    query = next((_plain(values[name]) for name in _TEXTS if values.get(name, "").strip()), "")
    return Topic(number, query) if number and query else None


def _local(tag: object) -> str:
    return str(tag).rsplit("}", 1)[-1].lower()


def _plain(text: str) -> str:
    return _PREFIX.sub("", _WHITE.sub(" ", text).strip())
