import gzip
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import byte_pairs as slow
from vtr_core.errors import DatasetError, InputError
from vtr_core.text.tokens.byte_pairs import MAX_MERGES, BytePairs, clean, read_byte_pairs
from vtr_core.text.tokens.vocabulary import Vocabulary

MERGES = [
    ("t", "h"),
    ("th", "e</w>"),
    ("a", "n"),
    ("i", "n"),
    ("in", "g</w>"),
    ("m", "an</w>"),
    ("a", "n</w>"),
    ("o", "o"),
    ("c", "oo"),
    ("coo", "k"),
    ("oo", "k"),
    ("e", "r</w>"),
    ("Ã", "©</w>"),
    ("'", "s</w>"),
]
PAIRS = BytePairs(tuple(MERGES))
LINES = "".join(f"{left} {right}\n" for left, right in MERGES)
# not unassigned characters, which versions of Unicode class differently
assigned = st.characters(codec="utf-8", exclude_categories=("Cn", "Co", "Cs"), max_codepoint=0xFFFF)
text = st.text(st.sampled_from("thecookiangrms 's7½²Ⅷé_-!&日本\n\t") | assigned, max_size=40)


@given(text)
@settings(max_examples=200, deadline=None)
def test_pieces_are_those_of_slow_code(caption):
    assert PAIRS.cut(caption) == slow.cut(clean(caption), MERGES)


@pytest.mark.parametrize(
    "caption",
    [
        "The man's cooking, the COOKER",
        "I’ll cook 12 eggs",
        "caf\u0065\u0301 &amp;amp; the\u00a0thing",
        "mooooon ½ x_y",
        "",
    ],
)
def test_captions_are_cut_as_slow_code_does(caption):
    straight = caption.replace("’", "'").replace("e\u0301", "é")
    assert PAIRS.cut(caption) == slow.cut(straight, MERGES)


def test_known_pieces():
    assert PAIRS.cut("The man's  Cooking") == ["the</w>", "man</w>", "'s</w>", "cook", "ing</w>"]
    assert clean("Tom &amp;amp; “Jerry”\n  eat") == 'tom & "jerry" eat'


def test_ids_are_the_published_ones_and_one():
    vocabulary = Vocabulary.of_pairs(PAIRS)
    known = slow.ids(MERGES)
    caption = "the man's cooking — café"
    assert vocabulary.known(caption) == [known[piece] + 1 for piece in slow.cut(caption, MERGES)]
    assert vocabulary.ids["!"] == 1
    assert vocabulary.ids["a</w>"] == 256 + (ord("a") - ord("!")) + 1
    assert vocabulary.encode("the the the", 2).tolist() == [known["the</w>"] + 1] * 2


def test_a_full_file_gives_clips_49408_tokens(tmp_path):
    letters = slow.letters()
    merges = [(left, right) for left in letters for right in letters][: MAX_MERGES + 100]
    place = tmp_path / "bpe_simple_vocab_16e6.txt.gz"
    place.write_bytes(gzip.compress(("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges)).encode()))
    assert len(read_byte_pairs(str(place)).pieces) + 2 == 49_408


def test_both_published_layouts_are_read(tmp_path):
    zipped, plain = tmp_path / "bpe.txt.gz", tmp_path / "merges.txt"
    zipped.write_bytes(gzip.compress(("#version: 0.2\n" + LINES).encode()))
    plain.write_text("#version: 0.2\n" + LINES)
    assert read_byte_pairs(str(zipped)) == read_byte_pairs(str(plain)) == PAIRS
    (tmp_path / "vocab.json").write_text(json.dumps(slow.ids(MERGES) | {"<|startoftext|>": len(PAIRS.pieces)}))
    assert read_byte_pairs(str(plain)) == PAIRS
    (tmp_path / "vocab.json").write_text(json.dumps({**slow.ids(MERGES), "coo": 3}))
    with pytest.raises(InputError, match=r"vocab\.json has other pieces or ids"):
        read_byte_pairs(str(plain))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"#version\na b c\n", "line 2: 'a b c' is not two pieces"),
        (b"#version\na b\na b\n", "a piece twice"),
        (b"#version\n", "no merges"),
        (b"\xff\xfe", "no readable text"),
        (b"\x1f\x8bnothing", "no readable text"),
    ],
)
def test_another_file_is_refused(tmp_path, content, said):
    (tmp_path / "merges.txt").write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_byte_pairs(str(tmp_path / "merges.txt"))
    with pytest.raises(InputError, match="no readable text"):
        read_byte_pairs(str(tmp_path / "nothing.txt"))


def test_a_vocabulary_keeps_its_merges():
    vocabulary = Vocabulary.of_pairs(PAIRS)
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again == vocabulary
    assert again.fingerprint == vocabulary.fingerprint == pickle.loads(pickle.dumps(vocabulary)).fingerprint
    assert again.known("the cook") == vocabulary.known("the cook")
    with pytest.raises(DatasetError, match="not those of its merges"):
        Vocabulary.from_json(vocabulary.to_json().replace(b'["c", "oo"]', b'["co", "o"]').replace(b'"cook"', b'"kooc"'))
    with pytest.raises(DatasetError, match="fingerprint"):
        Vocabulary.from_json(vocabulary.to_json().replace(b'["coo", "k"]', b'["co", "ok"]'))
