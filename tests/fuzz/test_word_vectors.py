"""Word-vector files of every format, damaged."""

import gzip
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.mutations import clear, damage, few_or_many
from tests.fuzz.oracle import Tally, memory_limit
from tests.fuzz.worlds import WORD_VECTORS
from vtr_core.text.word_vectors import read_word_vectors

pytestmark = pytest.mark.linux  # memory_limit

BOMB = gzip.compress(b"999999999999 999999999999\n" + bytes(1 << 26), 9)
"""64 MiB of zeros in 64 KiB."""
HEADERS = (
    b"1000000000000 5",
    b"4 1000000000000",
    b"-4 5",
    b"4 0",
    b"0 5",
    b"0 0",
    b"4.0 5",
    b"4 5 6",
    b"9" * 5000 + b" 5",
    b"4 " + b"9" * 5000,
    b"",
)


@few_or_many
@pytest.mark.parametrize("name", WORD_VECTORS)
def test_word_vectors(name: str, seeds: range, tmp_path: Path) -> None:
    tally = Tally()
    with memory_limit():
        for seed in seeds:
            random = Random(f"{name} {seed}")
            root = tmp_path / str(seed) / "in"
            root.mkdir(parents=True)
            file = root / "vectors"
            content = WORD_VECTORS[name]
            plain = gzip.decompress(content) if name == "gzip" else content
            if name != "glove" and random.random() < 0.2:
                content = random.choice(HEADERS) + plain[plain.index(b"\n") :]
            file.write_bytes(content)
            change = "header" if random.random() < 0.1 else damage(root, random).change
            expected = random.choice([{"onion"}, {"onion", "cut"}])
            tally.run(f"{name} {seed} {change}", partial(read_word_vectors, str(file), expected), str(root))
            clear(root.parent)
    tally.check(len(seeds))


def test_a_bomb_is_read_in_parts(tmp_path: Path) -> None:
    file, tally = tmp_path / "vectors.gz", Tally()
    file.write_bytes(BOMB)
    with memory_limit(1 << 28):
        tally.run("bomb", partial(read_word_vectors, str(file), {"onion"}), str(file))
    tally.check(1)
