"""Made faces: every subject has an arrangement of blobs of its own, every image of it moves and noises these."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tests.builders.toy import written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import splits


def face(subject: int, number: int, size: tuple[int, int] = (48, 40)) -> np.ndarray:
    """An image of (height, width) uint8."""
    own, of_image = np.random.default_rng([7, subject]), np.random.default_rng([8, subject, number])
    rows, columns = np.mgrid[: size[0], : size[1]]
    values = np.full(size, 90.0)
    shift = of_image.uniform(-1.5, 1.5, size=2)
    for _ in range(8):
        centre = own.uniform(0.15, 0.85, size=2) * size + shift
        width, light = own.uniform(2, 7), own.uniform(-90, 130)
        values += light * np.exp(-((rows - centre[0]) ** 2 + (columns - centre[1]) ** 2) / (2 * width**2))
    values = values * of_image.uniform(0.8, 1.2) + of_image.normal(0, 4, size)
    return np.clip(values, 0, 255).astype(np.uint8)


def made_faces(
    root: Path, subjects: int = 8, images: int = 4, size: tuple[int, int] = (48, 40), suffix: str = "pgm"
) -> Path:
    """A folder with folders s1, s2, … of files 1.pgm, 2.pgm, …"""
    for subject in range(1, subjects + 1):
        folder = root / f"s{subject}"
        folder.mkdir(parents=True)
        for number in range(1, images + 1):
            Image.fromarray(face(subject, number, size)).save(folder / f"{number}.{suffix}")
    return root


def made_lfw(root: Path, folds: int = 3) -> Path:
    """A copy of LFW with two matching and two different pairs a fold, of four people each; the last has one photograph.

    Photographs are in colour.
    """
    lines = [f"{folds}\t2"]
    for fold in range(folds):
        people = [f"Person_{fold}{letter}" for letter in "abcd"]
        for number, person in enumerate(people):
            (root / person).mkdir(parents=True)
            for photo in (1, 2) if number < 3 else (1,):
                channels = [face(10 * fold + number, 3 * photo + channel) for channel in range(3)]
                Image.fromarray(np.stack(channels, axis=2)).save(root / person / f"{person}_{photo:04d}.jpg")
        lines += [f"{person}\t1\t2" for person in people[:2]]
        lines += [f"{people[0]}\t1\t{people[2]}\t1", f"{people[1]}\t2\t{people[3]}\t1"]
    (root / "pairs.txt").write_text("\n".join(lines) + "\n")
    return root


def ingested(source: object, out: Path, videos_per_shard: int = 3, **options: object) -> dict[str, str]:
    """The data sets of `source` by split, written without Ray."""
    written(source, out, IngestOptions(videos_per_shard=videos_per_shard, **options))  # type: ignore[arg-type]
    return splits(str(out)) or {"": str(out)}


def names(first: int, last: int) -> Sequence[str]:
    """s<first>, …, s<last>."""
    return tuple(f"s{number}" for number in range(first, last + 1))
