"""Mutations of files and folders, drawn from a seeded generator: the same seed gives the same damage."""

import csv
import gzip
import io
import json
import os
import pickle
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.fuzz.oracle import Tally, memory_limit

few_or_many = pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 240), marks=pytest.mark.long)], ids=str
)

INSERTED = (
    b"\x00",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\xc3",
    b'"',
    b",",
    b"\t",
    b"../",
    b"-1",
    b"1e999",
    b"nan",
    b"[" * 3000,
    b"9" * 5000,
)
TEXTS = (
    *(
        "",
        " ",
        "\x00",
        "a\ud800b",
        "../../escape",
        "/abs/olute",
        "..",
        "a\nb",
        "\u202egnp",
        "\ufeff",
        "x" * 5000,
        "nan",
    ),
    *(
        "inf",
        "-1",
        "1e400",
        "9" * 5000,
        "0x10",
        "1_000",
        "٣",
        "true",
        "<script>alert(1)</script>",
        "s3://bucket/x",
        "=cmd()",
    ),
)
_NUMBERS = (0, -1, 0.5, 2**31, 2**63, 10**400, float("nan"), -float("inf"), 1e308)
VALUES: tuple[Any, ...] = (None, True, False, *_NUMBERS, [], {}, [None], {"a": 1}, [[[[]]]], *TEXTS)
FOREIGN = (
    *(b"", b"\n", b"{}", b"[]", b"null", b"0", b'"text"', b"[" * 200_000, b'{"a":' * 100_000, bytes(1000)),
    *(gzip.compress(b"hello"), pickle.dumps({"a": 1}), b"PAR1" + bytes(20) + b"PAR1", "a,b\n1,2\n".encode("utf-16")),
)


@dataclass(frozen=True)
class Damage:
    """What was done to which file, for messages of a failing test."""

    file: Path
    change: str


def damage(root: Path, random: Random, only: Callable[[Path], bool] = lambda _: True) -> Damage:
    """Damage one file or folder below `root`."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and only(path))
    file = random.choice(files)
    change = random.choice([*_GENERAL, *(4 * _special(file))])
    change(file, random)
    return Damage(file, change.__name__)


Change = Callable[[Path, Random], None]


def _special(file: Path) -> Sequence[Change]:
    match file.suffix:
        case ".npy":
            return (npy_header, npy_array)
        case ".json":
            return (json_value,) * 3
        case ".jsonl":
            return (json_line,)
        case ".csv" | ".tsv":
            return (csv_cell, csv_cell, csv_column, csv_row)
        case _:
            return ()


def flip_bytes(file: Path, random: Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(min(len(content), random.choice([1, 1, 2, 8, 64]))):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    file.write_bytes(content)


def truncate(file: Path, random: Random) -> None:
    content = file.read_bytes()
    file.write_bytes(
        content[: random.choice([0, 1, len(content) // 2, len(content) - 1, random.randrange(len(content) + 1)])]
    )


def insert(file: Path, random: Random) -> None:
    content = file.read_bytes()
    place = random.choice([0, len(content), random.randrange(len(content) + 1)])
    file.write_bytes(content[:place] + random.choice(INSERTED) + content[place:])


def repeat_part(file: Path, random: Random) -> None:
    content = file.read_bytes()
    first, last = sorted(random.randrange(len(content) + 1) for _ in range(2))
    file.write_bytes(content[:last] + content[first:last] * random.choice([1, 5]) + content[last:])


def cut_part(file: Path, random: Random) -> None:
    content = file.read_bytes()
    first, last = sorted(random.randrange(len(content) + 1) for _ in range(2))
    file.write_bytes(content[:first] + content[last:])


def other_content(file: Path, random: Random) -> None:
    file.write_bytes(random.choice([*FOREIGN, random.randbytes(300)]))


def remove(file: Path, random: Random) -> None:
    file.unlink()


def folder_instead(file: Path, random: Random) -> None:
    content = file.read_bytes()
    file.unlink()
    file.mkdir()
    if random.random() < 0.5:
        (file / "x.csv").write_bytes(content)


def file_instead_of_folder(file: Path, random: Random) -> None:
    folder = file.parent
    content = file.read_bytes()
    shutil.rmtree(folder)
    folder.write_bytes(content)


def swap(file: Path, random: Random) -> None:
    other = random.choice(sorted(path for path in _root(file).rglob("*") if path.is_file()))
    first, second = file.read_bytes(), other.read_bytes()
    file.write_bytes(second)
    other.write_bytes(first)


def link_to_itself(file: Path, random: Random) -> None:
    file.unlink()
    file.symlink_to(file.name)


def rename(file: Path, random: Random) -> None:
    name = random.choice(["x" * 240, "a b", "\u202e", "ünï", "-", file.name.upper(), ".hidden", "a\nb", "\udcff"])
    file.rename(file.with_name(name + file.suffix))


_GENERAL: tuple[Change, ...] = (
    *(2 * (flip_bytes, truncate, insert, other_content)),
    *(repeat_part, cut_part, remove, folder_instead, file_instead_of_folder, swap, link_to_itself, rename),
)


def _root(file: Path) -> Path:
    """The folder `in` of the case."""
    return next(parent for parent in file.parents if parent.name == "in")


def npy_header(file: Path, random: Random) -> None:
    """A header that does not suit the values behind it."""
    huge = "(10**12, 4)|(4, 10**12)".replace("10**12", str(10**12)).split("|")
    shapes = [*huge, "(-1, 4)", "(0, 4)", "()", "(2, 2, 2)", "(True, 4)", "(1.5, 4)", "[3, 4]", "((((", "None"]
    shape = random.choice([*shapes, "__import__('os')"])
    dtype = random.choice(["<f4", "<f4", ">f8", "|O", "<U5", "|V8", "<c8", "<M8[s]", "|b1", "<f16", "x"])
    quoted = dtype if dtype.startswith("[") else repr(dtype)
    header = f"{{'descr': {quoted}, 'fortran_order': {random.choice(['False', 'True', '1', 'x'])}, 'shape': {shape}, }}"
    if random.random() < 0.2:
        header = header.replace("'shape'", random.choice(["'shap'", "'shape': 1, 'shape'"]))
    padded = header.ljust(117) + "\n"
    version = random.choice([b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x09"])
    length = len(padded).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    if random.random() < 0.1:
        length = b"\xff" * len(length)
    file.write_bytes(b"\x93NUMPY" + version + length + padded.encode() + bytes(random.choice([0, 48, 4096])))


def npy_array(file: Path, random: Random) -> None:
    """An array that is valid in itself, but perhaps not here."""
    shape = random.choice([(), (0, 3), (3, 0), (3,), (2, 3, 4), (5, 4), (1, 4), (100_000, 1), (1, 100_000)])
    dtype = random.choice(["f8", "f4", ">f4", "g", "c8", "?", "i1", "u8", "U3", "O", "M8[s]"])
    array = np.ones(shape, dtype) if dtype not in ("U3", "O", "M8[s]") else np.empty(shape, dtype)
    if array.dtype.kind == "f":
        array *= random.choice([1.0, np.nan, np.inf, 70000.0])
    with file.open("wb") as sink:
        np.save(sink, np.asfortranarray(array) if random.random() < 0.2 else array, allow_pickle=True)


def json_value(file: Path, random: Random) -> None:
    content = json.loads(file.read_text())
    if any(_places(content)):
        change_value(content, random)
    file.write_text(json.dumps(content))


def json_line(file: Path, random: Random) -> None:
    lines = file.read_text().splitlines()
    number = random.randrange(len(lines))
    value = json.loads(lines[number])
    change_value(value, random)
    lines[number] = json.dumps(value)
    file.write_text("\n".join(lines))


def change_value(value: Any, random: Random) -> None:
    """Change, delete or rename one member of `value`, at any depth, in place."""
    node, key = random.choice(list(_places(value)))
    chosen = random.random()
    if chosen < 0.7:
        node[key] = random.choice(VALUES)
    else:
        taken = node.pop(key)
        if chosen < 0.85 and isinstance(node, dict):
            node[random.choice(TEXTS)] = taken


def _places(value: Any) -> Sequence[tuple[Any, Any]]:
    places: list[tuple[Any, Any]] = []
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        places += [(value, key), *_places(inner)]
    return places


def csv_cell(file: Path, random: Random) -> None:
    rows = _csv_rows(file)
    row = random.choice(rows)
    if row:
        row[random.randrange(len(row))] = random.choice(TEXTS)
    _write_csv(file, rows)


def csv_column(file: Path, random: Random) -> None:
    """A column that is dropped, doubled, or moved."""
    rows = _csv_rows(file)
    column = random.randrange(max(1, len(rows[0])))
    kind = random.randrange(3)
    for row in rows:
        cell = row.pop(min(column, len(row) - 1)) if row else ""
        if kind == 1:
            row.extend([cell, cell])
        elif kind == 2:
            row.insert(0, cell)
    _write_csv(file, rows)


def csv_row(file: Path, random: Random) -> None:
    """A row that is repeated, cut, lengthened or put in the header's place; or another delimiter for all."""
    rows = _csv_rows(file)
    number = random.randrange(len(rows))
    kind = random.randrange(5)
    if kind == 0:
        rows.insert(random.randrange(len(rows)), rows[number])
    elif kind == 1:
        rows[number] = rows[number][:-1]
    elif kind == 2:
        rows[number] = [*rows[number], "more", "cells"]
    elif kind == 3:
        rows.pop(0)
    _write_csv(file, rows, delimiter=";" if kind == 4 else ",")


def _csv_rows(file: Path) -> list[list[str]]:
    return list(csv.reader(file.read_text().splitlines())) or [[]]


def _write_csv(file: Path, rows: Sequence[Sequence[str]], delimiter: str = ",") -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    file.write_bytes(text.getvalue().encode(errors="surrogatepass"))


def fuzz(
    valid: Path, folder: Path, seeds: range, change: Callable[[Path, Random], object], read: Callable[[Path], object]
) -> None:
    """For each seed a damaged copy of `valid` is read, or refused with a line that names a file of it."""
    tally = Tally()
    with memory_limit():
        for seed in seeds:
            root = folder / str(seed) / "in"
            shutil.copytree(valid, root)
            damaged = change(root, Random(f"{valid.name} {seed}"))
            tally.run(f"{seed} {damaged}", partial(read, root), str(root))
            clear(root.parent)
    tally.check(len(seeds))


def clear(folder: Path) -> None:
    """Remove a case's folder, whatever a mutation has made of it."""
    if os.path.lexists(folder):
        shutil.rmtree(folder)
