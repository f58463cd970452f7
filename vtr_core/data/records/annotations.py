"""What people annotate: lists of image pairs for verification, and segments with a label."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from vtr_core import storage
from vtr_core.errors import DatasetError, InputError
from vtr_core.storage import Location

FILE = "pairs.json"
_MOST_LISTED = 2_000_000
"""Up to this number, different pairs are drawn from an explicit list; otherwise by rejection sampling."""


@dataclass(frozen=True)
class FacePair:
    """Two images by their ids, whether they show different subjects, and the pair's fold."""

    first: str
    second: str
    different: bool
    fold: int = 0


@dataclass(frozen=True)
class PairList:
    """Pairs in order, and their origin."""

    pairs: tuple[FacePair, ...]
    origin: str
    """The seed, or the file of the pairs."""


@dataclass(frozen=True)
class PairFile:
    """The manifest's record of the file of a pair list."""

    file: str
    sha256: str
    matching: int
    different: int
    origin: str


def draw_pairs(images: Mapping[str, Sequence[str]], most: int, seed: int) -> PairList:
    """A balanced list of at most `most` matching pairs of images and as many different ones.

    All matching pairs are taken, or `most` of them drawn; different ones are drawn without replacement. A function of
    the images and the seed. Raises InputError where there are no pairs of a kind.
    """
    names = [(image, subject) for subject in sorted(images) for image in sorted(images[subject])]
    matching = [pair for subject in sorted(images) for pair in combinations(sorted(images[subject]), 2)]
    total = len(names) * (len(names) - 1) // 2 - len(matching)
    if not matching or not total:
        raise InputError(
            f"{len(images)} subjects with {len(names)} images make {len(matching)} matching and {total} different "
            "pairs; verification needs both: give at least two subjects, one of them with two images"
        )
    generator = np.random.default_rng(seed)
    count = min(most, len(matching), total)
    chosen = np.sort(generator.choice(len(matching), count, replace=False))
    same = [FacePair(matching[i][0], matching[i][1], different=False) for i in chosen.tolist()]
    return PairList((*same, *_different(names, count, total, generator)), f"seed {seed}")


def _different(
    names: Sequence[tuple[str, str]], count: int, total: int, generator: np.random.Generator
) -> list[FacePair]:
    if total <= _MOST_LISTED:
        every = [(a, b) for a, b in combinations(names, 2) if a[1] != b[1]]
        chosen = np.sort(generator.choice(len(every), count, replace=False))
        return [FacePair(every[i][0][0], every[i][1][0], different=True) for i in chosen.tolist()]
    drawn: dict[tuple[int, int], None] = {}
    while len(drawn) < count:
        a, b = sorted(generator.integers(len(names), size=2).tolist())
        if names[a][1] != names[b][1]:
            drawn[(a, b)] = None
    return [FacePair(names[a][0], names[b][0], different=True) for a, b in sorted(drawn)]


def save_pairs(listed: PairList, folder: Location) -> PairFile:
    """Write the list into a data set's folder; returns its record for the manifest."""
    rows = [[pair.first, pair.second, int(pair.different), pair.fold] for pair in listed.pairs]
    content = (json.dumps({"origin": listed.origin, "pairs": rows}, ensure_ascii=False) + "\n").encode()
    storage.write_bytes(folder / FILE, content)
    different = sum(pair.different for pair in listed.pairs)
    digest = hashlib.sha256(content).hexdigest()
    return PairFile(FILE, digest, len(rows) - different, different, listed.origin)


def load_pairs(source: Mapping[str, Any], folder: Location) -> PairList:
    """The list of the data set in `folder`, whose manifest has `source`; DatasetError where it is missing or changed,
    since results on a changed list are not comparable.
    """
    record = source.get("pairs")
    if not isinstance(record, dict):
        raise DatasetError(f"{folder} has no list of pairs; rebuild it with vtr ingest faces or lfw")
    place = folder / FILE
    try:
        content = storage.read_bytes(place)
    except OSError as error:
        raise DatasetError(f"{place} cannot be read ({error}); restore or rebuild the data set") from error
    if hashlib.sha256(content).hexdigest() != record.get("sha256"):
        raise DatasetError(f"{place} is not the list that the manifest names; restore or rebuild the data set")
    value = json.loads(content)
    pairs = tuple(FacePair(first, second, bool(different), fold) for first, second, different, fold in value["pairs"])
    return PairList(pairs, value["origin"])


@dataclass(frozen=True)
class TimedLabel:
    """A segment from `start` to `end`, in seconds, with its label."""

    start: float
    end: float
    label: str
