"""Rows of tokens that are words and then the text itself, read from files as the vocabulary makes them."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.shards.word_table import WordTable
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary, texts_of

WORDS = Vocabulary(("a", "dog"))


def test_a_row_is_the_words_and_then_the_text() -> None:
    both = WORDS.with_texts()
    rows = both.encode_all(["A dog, caf\u00e9!", " zyzzyva "], 3)
    assert rows[:, :3].tolist() == [[1, 2, 0], [0, 0, 0]]
    assert texts_of(rows[:, 3:].astype(np.int64)) == ["A dog, caf\u00e9!", "zyzzyva"]
    assert rows.shape[1] == both.row_length(3) == 3 + TEXT_BYTES
    assert Vocabulary.from_json(both.to_json()) == both
    assert both.fingerprint != WORDS.fingerprint
    assert Vocabulary.from_json(WORDS.to_json()) == WORDS


@pytest.mark.parametrize("vocabulary", [WORDS.with_texts(), Vocabulary.utf8()], ids=["both", "texts"])
def test_none_is_unknown_to_who_reads_texts(vocabulary: Vocabulary) -> None:
    assert vocabulary.unknown_words("a zyzzyva") == ()
    assert WORDS.unknown_words("a zyzzyva, a Zyzzyva dog") == ("zyzzyva",)


@pytest.mark.parametrize("words", [False, True], ids=["texts", "both"])
@pytest.mark.parametrize("kind", ["clips", "videos"])
def test_files_are_read_as_the_vocabulary_encodes(kind: str, words: bool, tmp_path: Path) -> None:
    data = toy_dataset(tmp_path)[0] if kind == "clips" else toy_videos(tmp_path)
    vocabulary = WordTable.load(data).vocabulary
    made = vocabulary.with_texts() if words else Vocabulary.utf8()
    reader = RowGroupReader(data, ["tokens"], utf8=True, words=words)
    plain = RowGroupReader(data, ["caption" if kind == "clips" else "captions"])
    length = reader.schema.max_words
    assert length == made.row_length(data.schema.max_words)
    for place in row_groups(data):
        if kind == "clips":
            found, told = reader.read(place)["tokens"], plain.read(place)["caption"].tolist()
        else:
            cells = reader.read_arrow(place)["tokens"].to_pylist()
            found = np.concatenate([np.frombuffer(cell, np.int32).reshape(-1, length) for cell in cells])
            told = plain.read_arrow(place)["captions"].flatten().to_pylist()
        np.testing.assert_array_equal(found, made.encode_all(told, data.schema.max_words))
