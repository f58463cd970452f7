"""Vocabularies: cleaning, cutting, ids, files, texts beside words."""

import json
import pickle
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.config.data_sets import Tokenizer, UnknownWords
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import DatasetError, InputError
from vtr_core.fingerprint import fingerprint
from vtr_core.text.tokens.vocabulary import (
    TEXT_BYTES,
    Vocabulary,
    WordTags,
    clean_words,
    given_texts,
    texts_of,
    tokenise,
    word_counts,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A Dog RUNS", ["a", "dog", "runs"]),
        ("don't stop: 2 eggs—now!", ["don", "t", "stop", "2", "eggs", "now"]),
        ("crème_brulée", ["cr", "me", "brul", "e"]),
        ("собака бежит", []),
        ("  \t…", []),
    ],
)
def test_everything_but_latin_letters_and_digits_is_space(text, words):
    assert clean_words(text) == words


def _vocabulary(
    captions: list[str],
    min_count: int = 1,
    tokenizer: Tokenizer = "words",
    unknown: UnknownWords = "dropped",
    tags: WordTags | None = None,
) -> Vocabulary:
    return Vocabulary.from_counts(word_counts(captions, tokenizer, tags), min_count, tokenizer, unknown, tags)


DECOMPOSED = unicodedata.normalize("NFD", "Le café brûlé")


@pytest.mark.parametrize(
    ("text", "words"),
    {
        "Latin": ("Don't STOP: 2 eggs—now! naïve_x ...", ["don't", "stop", "2", "eggs", "now", "naïve_x"]),
        "marks of vowels": ("दिन दान दून", ["दिन", "दान", "दून"]),
        "decomposed letters": (DECOMPOSED, ["le", "café", "brûlé"]),
        "a capital whose lower case has a mark": ("İSTANBUL", ["istanbul"]),
        "typographic apostrophes": ("Don’t, donʼt, don't!", ["don't"] * 3),
        "a soft hyphen and a joiner": ("co\u00adoperate می\u200cخواهم \u200d", ["cooperate", "می\u200cخواهم"]),
        "pictures are no words": ("❤️ 1️⃣ 👩\u200d🍳", ["1"]),
        "Arabic with vowels": ("كَتَبَ الرَّجُل", ["كَتَبَ", "الرَّجُل"]),
        "Chinese": ("一个男人在厨房里做饭。", ["一个", "男人", "在", "厨房", "里", "做饭"]),
        "Japanese": ("男の人が料理を", ["男", "の", "人", "が", "料理", "を"]),
        "Thai": ("ผู้ชายกำลังทำอาหาร", ["ผู้ชาย", "กำลัง", "ทำ", "อาหาร"]),
        "Lao": ("ຜູ້ຊາຍກໍາລັງ", ["ຜູ້ຊາຍ", "ກໍາລັງ"]),
        "Khmer": ("បុរសកំពុងចម្អិន", ["បុរស", "កំពុង", "ចម្អិន"]),
        "Burmese": ("လူတစ်ယောက်", ["လူ", "တစ်", "ယောက်"]),
        "two scripts": ("用iPhone拍𠮷野家, don't", ["用", "iphone", "拍", "𠮷", "野家", "don't"]),
    }.values(),
)
def test_words_of_any_script_are_whole(text, words):
    assert tokenise(text) == words
    assert tokenise(unicodedata.normalize("NFD", text)) == words


def test_a_vocabulary_of_before_cuts_texts_as_it_was_made():
    old = {"tokenizer": "words", "words": ["द", "न"], "fingerprint": fingerprint(("द", "न"))}
    before = Vocabulary.from_json(json.dumps(old).encode())
    assert before.known("दिन") == [1, 2]
    assert Vocabulary.from_json(before.to_json()) == before
    now = _vocabulary(["दिन"])
    assert (now.known("दिन"), now.known("दान")) == ([1], [])
    assert Vocabulary.from_json(now.to_json()) == now
    with pytest.raises(DatasetError, match="version of words '3' is none of 1, 2"):
        Vocabulary.from_json(now.to_json().replace(b'"version": 2', b'"version": 3'))


def test_captions_with_other_marks_have_other_keys():
    assert len({caption_key(text) for text in ("दिन", "दान", "café", "cafe", "男人", "女人")}) == 6
    assert caption_key(DECOMPOSED) == caption_key("le café, brûlé")
    assert caption_key("Don’t go") == caption_key("don't go")


@pytest.mark.parametrize("texts", [[5], ["a", None], b"a", None, 3.5, [["a"]], [float("nan")]])
def test_what_is_no_text_is_named(texts):
    with pytest.raises(InputError, match=r"is no text but (int|NoneType|bytes|float|list); give"):
        given_texts(texts)
    assert given_texts("a") == given_texts(("a",)) == ["a"]


def test_words_come_by_descending_count_then_alphabetically():
    vocabulary = _vocabulary(["b a c", "c b", "C d"])
    assert vocabulary.words == ("c", "b", "a", "d")
    assert vocabulary.ids == {"c": 1, "b": 2, "a": 3, "d": 4}
    assert _vocabulary(["b a c", "c b", "C d"], min_count=2).words == ("c", "b")


def test_unknown_words_are_dropped_before_the_cut_and_the_rest_is_padded():
    vocabulary = Vocabulary(("cut", "the", "onion"))
    row = vocabulary.encode("Now cut all of the, the onion", 3)
    assert row.dtype == np.int32
    assert row.tolist() == [1, 2, 2]
    assert vocabulary.encode("onion!", 4).tolist() == [3, 0, 0, 0]
    assert vocabulary.encode("nothing known", 2).tolist() == [0, 0]


def test_json_round_trip_keeps_words_ids_and_fingerprint():
    vocabulary = Vocabulary(("crème", "a'b", "0"))
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again == vocabulary
    assert again.fingerprint == vocabulary.fingerprint == pickle.loads(pickle.dumps(vocabulary)).fingerprint
    assert Vocabulary(("a'b", "crème", "0")).fingerprint != vocabulary.fingerprint


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"words": ["a"]}', b'{"words": 3, "fingerprint": ""}'])
def test_a_damaged_file_is_named(content):
    with pytest.raises(DatasetError, match=r"s3://b/vocabulary\.json .*vtr ingest"):
        Vocabulary.from_json(content, "s3://b/vocabulary.json")


def test_the_tokenizer_decides_what_a_word_is():
    text = "Don't STOP: crème_brulée 2 go"
    assert words_of(text, "words") == tokenise(text)
    assert words_of(text, "alphanumeric") == ["don", "t", "stop", "cr", "me", "brul", "e", "2", "go"]
    vocabulary = _vocabulary(["don't", "Don t x"], 2, "alphanumeric")
    assert vocabulary.words == ("don", "t")
    assert vocabulary.encode("I don't", 3).tolist() == [1, 2, 0]
    assert vocabulary.known("t'don x") == [2, 1]


def test_the_tokenizer_is_recorded_and_an_old_file_is_of_words():
    words = Vocabulary(("a", "b"))
    other = Vocabulary(("a", "b"), "alphanumeric")
    assert words.fingerprint == fingerprint(("a", "b"))  # of older data sets
    assert other.fingerprint != words.fingerprint
    assert Vocabulary.from_json(other.to_json()) == other
    old = json.dumps({"words": ["a", "b"], "fingerprint": words.fingerprint}).encode()
    assert Vocabulary.from_json(old) == replace(words, version=1)
    assert Vocabulary.from_json(old).fingerprint == words.fingerprint


def test_a_changed_or_unknown_tokenizer_is_noticed():
    content = Vocabulary(("a", "b"), "alphanumeric").to_json()
    with pytest.raises(DatasetError, match="does not match its fingerprint"):
        Vocabulary.from_json(content.replace(b'"alphanumeric"', b'"words"'))
    for bad in (b'"letters"', b"3", b"[]", b"null"):
        with pytest.raises(DatasetError, match="is none of words, alphanumeric"):
            Vocabulary.from_json(content.replace(b'"alphanumeric"', bad))


def test_an_unknown_word_is_a_token_of_its_own_where_that_is_asked_for():
    vocabulary = _vocabulary(["a b", "a c"], 2, unknown="token")
    assert vocabulary.words == ("a",)
    assert vocabulary.encode("a dog, a", 5).tolist() == [1, 4, 1, 0, 0]  # 1 + <start> 2, <end> 3, <unk> 4
    assert vocabulary.encode_all(["dog", ""], 2).tolist() == [[4, 0], [0, 0]]
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again == vocabulary
    assert again.fingerprint != Vocabulary(("a",)).fingerprint
    with pytest.raises(DatasetError, match="does not match its fingerprint"):
        Vocabulary.from_json(vocabulary.to_json().replace(b'"unknown": "token"', b'"unknown": "dropped"'))


def test_tagged_words_carry_their_part_of_speech():
    tags = WordTags.of("default")
    vocabulary = _vocabulary(["the dogs run", "a dog runs"], 1, tags=tags)
    assert set(vocabulary.words) == {"the", "dogs/noun", "run/verb", "a", "dog/noun", "runs/verb"}
    assert vocabulary.known("The dogs run!") == [vocabulary.ids[word] for word in ("the", "dogs/noun", "run/verb")]
    assert Vocabulary.from_json(vocabulary.to_json()) == vocabulary
    assert vocabulary.fingerprint != Vocabulary(vocabulary.words).fingerprint


def test_another_tagger_than_that_of_the_words_is_refused():
    vocabulary = Vocabulary(("dog/noun",), tags=WordTags("default", "of another"))
    with pytest.raises(DatasetError, match="were tagged by another default"):
        vocabulary.known("a dog")


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
