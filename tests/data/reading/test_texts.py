"""A model with a pretrained text encoder reads captions as they were written, in every kind of data set."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.captioned import captioned_clips, captioned_videos
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.data.stream.assemble import read_directly
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary, texts_of

CAPTIONS = {
    "a": ["A dog, running!", "Käse über alles"],
    "b": ["二匹の犬", "a dog"],
    "c": ["x" * (TEXT_BYTES + 50), "one two"],
}


@pytest.fixture(params=[captioned_clips, captioned_videos], ids=["clips", "videos"])
def manifest(request: pytest.FixtureRequest, tmp_path: Path) -> Manifest:
    made: Manifest = request.param(tmp_path / "d", CAPTIONS)
    return made


def test_a_batch_holds_the_texts_of_its_captions(manifest: Manifest) -> None:
    plan = Plan(manifest, BatchConfig(videos=3, clips_per_video=1, window=1), seed=0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema), utf8=True)
    written = {caption_key(text): text for texts in CAPTIONS.values() for text in texts}
    batches = read_directly(reader, plan, Part(0, 1), 0)
    seen = set()
    for _ in range(8):
        batch = next(batches)
        assert batch["tokens"].shape == (3, TEXT_BYTES)
        for text, key in zip(texts_of(batch["tokens"].astype(np.int64)), batch["caption_key"].tolist(), strict=True):
            assert text == written[key][:TEXT_BYTES]
            seen.add(key)
    assert len(seen) > 3


def test_without_utf8_the_same_batches_hold_words(manifest: Manifest) -> None:
    plan = Plan(manifest, BatchConfig(videos=3, clips_per_video=1, window=1), seed=0)
    texts, words = (
        next(read_directly(RowGroupReader(manifest, training_columns(manifest.schema), utf8=utf8), plan, Part(0, 1), 0))
        for utf8 in (True, False)
    )
    assert words["tokens"].shape[1] == manifest.schema.max_words
    np.testing.assert_array_equal(texts["caption_key"], words["caption_key"])
    np.testing.assert_array_equal(texts["video"], words["video"])


def test_a_letter_that_is_cut_in_the_middle_is_left_out() -> None:
    rows = Vocabulary.utf8().encode_all(["b" * (TEXT_BYTES - 2) + "€", "€" * TEXT_BYTES], TEXT_BYTES)
    assert texts_of(rows.astype(np.int64)) == ["b" * (TEXT_BYTES - 2), "€" * (TEXT_BYTES // 3)]


def test_the_vocabulary_of_bytes_survives_its_file() -> None:
    vocabulary = Vocabulary.utf8()
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again == vocabulary
    assert again.known("é") == [byte + 1 for byte in "é".encode()]
