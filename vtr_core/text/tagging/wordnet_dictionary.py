"""A WordNet dictionary as it is distributed: its lemmas, and the frequency of each sense."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vtr_core.errors import InputError
from vtr_core.text.tagging.tagger import TaggerMissing

PARTS = {"NOUN": "noun", "VERB": "verb", "ADJ": "adj", "ADV": "adv"}
"""Universal tag to the suffix of its files, in the order in which ties are decided."""
_SENSE_TYPES = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}
_COUNTS = ("index.sense", "cntlist.rev", "cntlist")
"""Files with the frequency of each sense; the first one that exists is read."""


@dataclass(frozen=True)
class WordNetDictionary:
    """Lemmas by universal tag, the count of each one's most frequent sense, and irregular forms."""

    lemmas: dict[str, frozenset[str]]
    largest: dict[tuple[str, str], int]
    """(lemma, tag) to the count of its most frequent sense; absent where none was met."""
    exceptions: dict[str, dict[str, tuple[str, ...]]]
    """By tag: irregular form to its lemmas."""
    fingerprint: str


def read_wordnet(folder: str) -> WordNetDictionary:
    """The dictionary in a local folder: index.noun, index.verb, index.adj, index.adv; one of index.sense, cntlist.rev
    and cntlist; the .exc files where there are any.

    Raises TaggerMissing where files are missing, InputError where one is not a WordNet file.
    """
    root = Path(folder).expanduser()
    needed = [root / f"index.{ending}" for ending in PARTS.values()]
    counts = next((root / name for name in _COUNTS if (root / name).is_file()), None)
    missing = [path.name for path in needed if not path.is_file()]
    if missing or counts is None:
        raise TaggerMissing(
            f"{root} is not a WordNet dictionary: it lacks {', '.join(missing) or 'one of ' + ', '.join(_COUNTS)}; "
            "unpack WordNet's database files and give the folder that holds index.noun (often called dict)"
        )
    irregular = [path for ending in PARTS.values() if (path := root / f"{ending}.exc").is_file()]
    digest = hashlib.sha256()
    for path in (*needed, counts, *irregular):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return WordNetDictionary(
        {tag: frozenset(_lemmas(root / f"index.{ending}")) for tag, ending in PARTS.items()},
        _largest(counts),
        {tag: _exceptions(root / f"{ending}.exc") for tag, ending in PARTS.items()},
        digest.hexdigest(),
    )


def _lines(path: Path) -> Iterator[list[str]]:
    """The fields of every line, without the licence at the beginning of a file, whose lines are indented."""
    try:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                if line.strip() and not line.startswith("  "):
                    yield line.split()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text file ({error}); give a WordNet dictionary") from error


def _lemmas(path: Path) -> Iterator[str]:
    return (fields[0].lower() for fields in _lines(path))


def _largest(path: Path) -> dict[tuple[str, str], int]:
    """index.sense: key, offset, number, count. cntlist.rev: key, number, count. cntlist: count, key, number."""
    key_at, count_at = (1, 0) if path.name == "cntlist" else (0, -1)
    largest: dict[tuple[str, str], int] = {}
    for fields in _lines(path):
        try:
            lemma, sense = fields[key_at].split("%")
            name, count = (lemma.lower(), _SENSE_TYPES[sense[0]]), int(fields[count_at])
        except (ValueError, IndexError, KeyError) as error:
            raise InputError(f"{path} has the line {' '.join(fields)!r}, which counts no sense") from error
        if count > largest.get(name, 0):
            largest[name] = count
    return largest


def _exceptions(path: Path) -> dict[str, tuple[str, ...]]:
    if not path.is_file():
        return {}
    return {fields[0].lower(): tuple(field.lower() for field in fields[1:]) for fields in _lines(path)}
