"""NLTK's tagger from files in its format, written by hand: no model of NLTK's is at hand."""

import json
from pathlib import Path

import pytest

from vtr_core.errors import InputError
from vtr_core.text.tagging import nltk_tagger
from vtr_core.text.tagging.nltk_tagger import NltkTagger, universal_tag
from vtr_core.text.tagging.tagger import PosTagger, TaggedWord, TaggerMissing

NAME = "averaged_perceptron_tagger_eng"
TAGS = ["DT", "IN", "NNS", "VBZ", "VBG"]


def install(folder: Path, runs: float = 1.0) -> Path:
    """A model that knows three words for certain and tells `running` by its ending."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {
        "weights": {"i suffix ing": {"VBG": runs}, "i word runs": {"VBZ": 1.0, "NNS": 0.5}},
        "tagdict": {"the": "DT", "dogs": "NNS", "with": "IN"},
        "classes": TAGS,
    }
    for part, value in parts.items():
        (folder / f"{NAME}.{part}.json").write_text(json.dumps(value))
    return folder


def test_words_go_in_and_tagged_words_come_out(tmp_path: Path) -> None:
    tagger = NltkTagger(str(install(tmp_path)))
    assert isinstance(tagger, PosTagger)
    assert list(tagger.tag([["the", "dogs", "running"], [], ["runs", "with"]])) == [
        [TaggedWord("the", "the", "DET"), TaggedWord("dogs", "dog", "NOUN"), TaggedWord("running", "run", "VERB")],
        [],
        [TaggedWord("runs", "run", "VERB"), TaggedWord("with", "with", "ADP")],
    ]


def test_the_fingerprint_is_of_the_files(tmp_path: Path) -> None:
    one, same, other = (
        NltkTagger(str(install(tmp_path / name, runs))) for name, runs in (("a", 1.0), ("b", 1.0), ("c", 2.0))
    )
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert NAME in one.name


def test_files_are_looked_for_where_nltk_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nltk_data = pytest.importorskip("nltk.data")
    monkeypatch.setattr(nltk_data, "path", [str(tmp_path)])
    with pytest.raises(TaggerMissing, match=r"not in its data path \(NLTK_DATA\).*as nltk:FOLDER"):
        assert NltkTagger("").fingerprint
    install(tmp_path / "taggers" / NAME)
    assert NltkTagger("").fingerprint == NltkTagger(str(tmp_path / "taggers" / NAME)).fingerprint


def test_what_is_missing_or_damaged_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = install(tmp_path)
    (folder / f"{NAME}.classes.json").write_text("{}")
    with pytest.raises(InputError, match=r"classes\.json holds no list of tags; download"):
        list(NltkTagger(str(folder)).tag([["a"]]))
    (folder / f"{NAME}.weights.json").write_text("{")
    with pytest.raises(InputError, match=r"weights\.json cannot be read"):
        list(NltkTagger(str(folder)).tag([["a"]]))
    (folder / f"{NAME}.tagdict.json").unlink()
    with pytest.raises(TaggerMissing, match=r"tagdict\.json are needed"):
        assert NltkTagger(str(folder)).fingerprint
    monkeypatch.setattr(nltk_tagger, "find_spec", lambda name: None)
    with pytest.raises(TaggerMissing, match=r"vtr-ray\[nltk\]"):
        assert NltkTagger(str(folder)).fingerprint


@pytest.mark.parametrize(
    ("tag", "universal"),
    [("VBZ", "VERB"), ("VB", "VERB"), ("MD", "AUX"), ("NNP", "PROPN"), ("JJR", "ADJ"), ("IN", "ADP"), (",", "PUNCT")],
)
def test_universal_tags(tag: str, universal: str) -> None:
    assert universal_tag(tag) == universal
