from pathlib import Path

import pytest

from tests.text.tagged import FixedTagger, true
from tests.text.treebank import SENTENCES, conllu, treebank
from vtr_core.errors import InputError
from vtr_core.text.tagging.treebank import (
    TreebankWord,
    accuracy,
    as_captions,
    read_conllu,
    treebank_accuracy,
    treebank_file,
)


def test_words_are_read_without_ranges_and_empty_nodes(tmp_path: Path) -> None:
    file = treebank_file(treebank(tmp_path), "dev")
    sentences = read_conllu(file)
    assert [len(sentence) for sentence in sentences] == [len(sentence.split()) for sentence in SENTENCES]
    assert sentences[0][1] == TreebankWord("men", "man", "NOUN")
    file.write_text(conllu(("don/AUX/_",)))
    assert read_conllu(file) == [[TreebankWord("don", "don", "AUX")]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\tdog\tdog\tNOUN\n", "line 1 has 4 fields"),
        (conllu(("dog/NN/dog",)), "line 3 has the tag 'NN'; universal tags are ADJ"),
        ("# nothing\n\n", "holds no sentence"),
        (b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_what_is_no_conllu(tmp_path: Path, content: str | bytes, message: str) -> None:
    file = tmp_path / "a-test.conllu"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        read_conllu(file)


def test_a_folder_without_the_part(tmp_path: Path) -> None:
    treebank(tmp_path)
    (tmp_path / "other-test.conllu").write_text(conllu())
    with pytest.raises(InputError, match=r"en_tiny-ud-test\.conllu, other-test\.conllu for its test part"):
        treebank_file(str(tmp_path), "test")
    with pytest.raises(InputError, match=r"has none for its all part"):
        treebank_file(str(tmp_path), "all")


def test_captions_are_lower_case_without_punctuation() -> None:
    sentences = [true("The/DET e-mail/NOUN Anna:Anna/PROPN do/AUX n't:not/PART send/VERB ./PUNCT"), true("…/PUNCT")]
    assert list(as_captions(sentences)) == [true("the/DET anna/PROPN do/AUX send/VERB")]


def test_accuracy_counts_words() -> None:
    sentences = [true("The:the/DET dogs:dog/NOUN run/VERB Anna:Anna/PROPN"), true("./PUNCT")]
    tagger = FixedTagger("The:the/DET dogs:dogs/NOUN run/NOUN Anna:anna/NOUN the/DET anna/NOUN")
    measured = treebank_accuracy(tagger, sentences)
    assert (measured.sentences.words, measured.captions.words) == (5, 4)
    assert measured.sentences.tags == pytest.approx(2 / 5)  # the full stop is unknown to it
    assert measured.sentences.parts == pytest.approx(4 / 5)
    assert measured.sentences.lemmas == pytest.approx(4 / 5)
    assert measured.sentences.concepts == pytest.approx(1 / 3)
    assert measured.captions.tags == pytest.approx(2 / 4)
    with pytest.raises(InputError, match="no word"):
        accuracy(tagger, [])
