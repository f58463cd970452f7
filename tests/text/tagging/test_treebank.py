from pathlib import Path

import pytest

from tests.text.tagged import FixedTagger, true
from tests.text.treebank import SENTENCES, conllu, treebank
from vtr_core.errors import ConfigError, InputError
from vtr_core.text.tagging.tagger_training import accuracy, treebank_accuracy
from vtr_core.text.tagging.treebank import TreebankWord, as_captions, known_treebank, read_conllu, treebank_file


def test_words_are_read_without_ranges_and_empty_nodes(tmp_path: Path) -> None:
    file = treebank_file(treebank(tmp_path), "dev")
    found = read_conllu(file)
    assert [len(sentence) for sentence in found] == [len(sentence.split()) for sentence in SENTENCES]
    assert found[0][1] == TreebankWord("men", "man", "NOUN", "_")
    file.write_text(conllu(("don/AUX/_",)))
    assert read_conllu(file) == [[TreebankWord("don", "don", "AUX", "_")]]


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
    found = treebank_accuracy(tagger, sentences)
    assert (found.sentences.words, found.captions.words) == (5, 4)
    assert found.sentences.tags == pytest.approx(2 / 5)  # the full stop is unknown to it
    assert found.sentences.parts == pytest.approx(4 / 5)
    assert found.sentences.lemmas == pytest.approx(4 / 5)
    assert found.sentences.concepts == pytest.approx(1 / 3)
    assert found.captions.tags == pytest.approx(2 / 4)
    with pytest.raises(InputError, match="no word"):
        accuracy(tagger, [])


def test_a_treebank_that_is_not_known_needs_its_licence() -> None:
    ewt = known_treebank(Path("en_ewt-ud-train.conllu"), None, None)
    assert (ewt.licence, "Silveira" in ewt.attribution) == ("CC BY-SA 4.0", True)
    other = known_treebank(Path("en_gum-ud-train.conllu"), "CC BY 4.0", "somebody")
    assert (other.name, other.attribution) == ("en_gum", "somebody")
    with pytest.raises(ConfigError, match="--licence and --attribution"):
        known_treebank(Path("en_gum-ud-train.conllu"), "CC BY 4.0", None)
