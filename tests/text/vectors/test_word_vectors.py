import gzip
from pathlib import Path

import numpy as np
import pytest

from vtr_core.errors import InputError
from vtr_core.text.word_vectors import read_word_vectors

WORDS = ("the", "Onion", "crème", "cut")
VECTORS = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)


def binary(newline=b"\n", words=WORDS, vectors=VECTORS):
    records = [w.encode() + b" " + v.astype("<f4").tobytes() + newline for w, v in zip(words, vectors, strict=True)]
    return f"{len(words)} {vectors.shape[1]}\n".encode() + b"".join(records)


def lines(words=WORDS, vectors=VECTORS):
    return "".join(f"{w} {' '.join(map(repr, v.tolist()))}\n" for w, v in zip(words, vectors, strict=True)).encode()


def text():
    return b"4 5\n" + lines()


FORMATS = {
    "binary": binary(),
    "binary without newlines": binary(b""),
    "text": text(),
    "text with spaces at line ends": text().replace(b"\n", b" \n").replace(b"4 5 \n", b"4 5\n"),
    "glove": lines(),
    "glove without a last newline": lines()[:-1],
    "gzip": gzip.compress(binary()),
}


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "vectors.bin"
        path.write_bytes(content)
        return str(path)

    return write


@pytest.mark.parametrize("content", FORMATS.values(), ids=FORMATS)
def test_every_format_is_told_by_its_content(write, content):
    found = read_word_vectors(write(content), WORDS)
    assert found.words == WORDS
    assert found.vectors.dtype == np.float32
    np.testing.assert_array_equal(found.vectors, VECTORS)
    wanted = read_word_vectors(write(content), {"cut", "crème", "onion"})
    assert wanted.words == ("crème", "cut")
    np.testing.assert_array_equal(wanted.vectors, VECTORS[[2, 3]])


def test_of_a_repeated_word_the_first_vector_counts(write):
    found = read_word_vectors(write(lines(("a", "b", "a", "c"))), "abc")
    assert found.words == ("a", "b", "c")
    np.testing.assert_array_equal(found.vectors, VECTORS[[0, 1, 3]])


def test_glove_words_may_hold_spaces(write):
    words = ("the", ". . .", "at name@domain.com", "cut")
    assert read_word_vectors(write(lines(words)), words).words == words


@pytest.mark.parametrize("block", [64, 4096])
def test_binary_files_are_read_in_blocks(write, monkeypatch, block):
    monkeypatch.setattr("vtr_core.text.word_vectors._BLOCK", block)
    monkeypatch.setattr("vtr_core.text.word_vectors._LONGEST_WORD", 32)
    words = tuple(f"w{i}" for i in range(3000))
    vectors = np.random.default_rng(1).standard_normal((3000, 7)).astype(np.float32)
    found = read_word_vectors(write(binary(words=words, vectors=vectors)), words)
    assert found.words == words
    np.testing.assert_array_equal(found.vectors, vectors)


FAULTS = {
    "binary cut within a vector": (binary()[:-10], "truncated at word 4 of 4"),
    "binary cut within a word": (binary()[:30], "truncated at word 2 of 4"),
    "binary cut between words": (binary(b"")[:54], "at word 3 of 4"),
    "binary that goes on": (binary() + b"more", "goes on after the 4 words"),
    "binary with NaN": (binary(vectors=np.full((4, 5), np.nan, np.float32)), "word 1.*'the' are not all finite"),
    "text cut within a line": (text()[:-25], "line 5: 4 values where the file has 5"),
    "text cut between lines": (b"5 5\n" + lines(), "4 words where its header says 5"),
    "text of another dimension": (b"4 6\n" + lines(), "line 2: 5 values where the file has 6"),
    "a longer line": (lines() + b"more 1 2 3 4 5 6\n", "line 5: 6 values where the file has 5"),
    "a word among values": (lines() + b"more 1 x 3 4 5\n", "line 5: the values of 'more' are not all numbers"),
    "infinite values": (lines() + b"more 1 inf 3 4 5\n", "line 5: the values of 'more' are not all finite"),
    "prose": (b"This is not a table.\n", "line 1: 'This is not a table.' is not a word with its values"),
    "not text": (b"\xff\xfe\x00\n", "line 1: not UTF-8"),
    "a cut gzip file": (gzip.compress(binary())[:-20], "damaged gzip file"),
    "nothing": (b"", "holds none of the 5 words"),
}


@pytest.mark.parametrize(("content", "message"), FAULTS.values(), ids=FAULTS)
def test_damage_is_named_with_its_place(write, content, message):
    with pytest.raises(InputError, match=r"vectors\.bin.*" + message):
        read_word_vectors(write(content), (*WORDS, "more"))


def test_a_missing_file_and_a_file_without_any_wanted_word_are_errors(write, tmp_path):
    with pytest.raises(InputError, match="there is no word-vector file"):
        read_word_vectors(str(tmp_path / "none.bin"), WORDS)
    with pytest.raises(InputError, match="none of the 2 words"):
        read_word_vectors(write(text()), {"x", "y"})


def test_a_folder_is_a_big_file_of_words(tmp_path):
    (tmp_path / "shape.txt").write_text("4 5\n")
    (tmp_path / "id.txt").write_text("the Onion voil\u00e0 cut", encoding="utf-8")
    (tmp_path / "feature.bin").write_bytes(VECTORS.astype("<f4").tobytes())
    found = read_word_vectors(str(tmp_path), {"voil\u00e0", "the", "none"})
    assert found.words == ("the", "voil\u00e0")
    np.testing.assert_array_equal(found.vectors, VECTORS[[0, 2]])
    with pytest.raises(InputError, match="none of the 1 words"):
        read_word_vectors(str(tmp_path), {"none"})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "id.txt").write_text("a b c"), "3 names"),
        (lambda folder: (folder / "shape.txt").unlink(), "cannot be read"),
        (lambda folder: (folder / "feature.bin").write_bytes(b"\0" * 79), "has 79 bytes"),
        (lambda folder: (folder / "feature.bin").write_bytes(b"\xff" * 80), "not finite"),
    ],
)
def test_a_damaged_big_file_is_named(damage, message, tmp_path: Path):
    (tmp_path / "shape.txt").write_text("4 5\n")
    (tmp_path / "id.txt").write_text("a b c d")
    (tmp_path / "feature.bin").write_bytes(VECTORS.astype("<f4").tobytes())
    damage(tmp_path)
    with pytest.raises(InputError, match=message):
        read_word_vectors(str(tmp_path), "abcd")
