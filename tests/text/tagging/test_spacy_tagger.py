"""The shipped tagger, a small one of our own making, and pipelines that are not there or not whole."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest
import spacy

from tests.security.payload import FORMS, forms
from tests.text.treebank import treebank
from vtr_core.errors import InputError
from vtr_core.text.tagging.lemmatiser import Lemmatiser
from vtr_core.text.tagging.spacy_tagger import SHIPPED, SpacyTagger, shipped_tagger
from vtr_core.text.tagging.tagger import PosTagger, TaggerMissing, choose_tagger
from vtr_core.text.tagging.tagger_training import TaggerEpoch, save_pipeline, train_tagger
from vtr_core.text.tagging.treebank import TaggerSettings, read_conllu, treebank_file

SMALL = TaggerSettings(width=16, depth=1, rows=(200, 50, 100, 50), epochs=25, batch_words=12, dropout=0)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline that knows six sentences."""
    folder = tmp_path_factory.mktemp("tagger")
    sentences = read_conllu(treebank_file(treebank(folder / "treebank"), "train"))
    epochs: list[TaggerEpoch] = []
    language = train_tagger(sentences, sentences, SMALL, epochs.append)
    assert [epoch.epoch for epoch in epochs] == list(range(1, 26))
    assert max(epoch.tags for epoch in epochs) > 0.9
    save_pipeline(
        language, Lemmatiser.from_treebank(sentences), SMALL, {"name": "small", "version": "0.1"}, folder / "pipeline"
    )
    return folder / "pipeline"


def test_it_gives_one_tagged_word_per_word(small: Path) -> None:
    tagger = SpacyTagger(str(small))
    assert isinstance(tagger, PosTagger)
    captions = [["the", "men", "are", "running"], [], ["red", "dogs"]]
    found = list(tagger.tag(captions))
    assert [[word.text for word in caption] for caption in found] == captions
    assert [word.pos for word in found[0]] == ["DET", "NOUN", "AUX", "VERB"]
    assert [word.lemma for word in found[0]] == ["the", "man", "be", "run"]


def test_several_processes_give_the_same(small: Path) -> None:
    captions = [["red", "dogs"], ["the", "men", "run"], ["a", "dog"]] * 7
    assert list(SpacyTagger(str(small), 2).tag(captions)) == list(SpacyTagger(str(small)).tag(captions))


def test_training_is_deterministic_and_leaves_no_words_of_the_treebank(small: Path, tmp_path: Path) -> None:
    sentences = read_conllu(treebank_file(treebank(tmp_path / "treebank"), "train"))
    language = train_tagger(sentences, sentences, SMALL, lambda epoch: None)
    save_pipeline(
        language, Lemmatiser.from_treebank(sentences), SMALL, {"name": "small", "version": "0.1"}, tmp_path / "again"
    )
    assert SpacyTagger(str(tmp_path / "again")).fingerprint == SpacyTagger(str(small)).fingerprint
    assert "Anna" not in json.loads((small / "vocab" / "strings.json").read_text())
    assert language.vocab.strings["Anna"] in language.vocab.strings


def test_name_and_fingerprint(small: Path, tmp_path: Path) -> None:
    tagger = SpacyTagger(str(small))
    assert tagger.name == f"spaCy {spacy.__version__} en_small 0.1"
    changed = shutil.copytree(small, tmp_path / "changed")
    assert SpacyTagger(str(changed)).fingerprint == tagger.fingerprint
    (changed / "morphologizer" / "cfg").write_text((changed / "morphologizer" / "cfg").read_text() + " ")
    assert SpacyTagger(str(changed)).fingerprint != tagger.fingerprint


def test_a_pipeline_that_is_not_there() -> None:
    with pytest.raises(TaggerMissing, match=r"no spaCy pipeline 'en_core_web_none'.*installed: .*leave out --tagger"):
        SpacyTagger("en_core_web_none").fingerprint  # noqa: B018


def test_a_pipeline_without_tags(tmp_path: Path) -> None:
    spacy.blank("en").to_disk(tmp_path)
    with pytest.raises(InputError, match="gives no POS and no LEMMA"):
        list(SpacyTagger(str(tmp_path)).tag([["a"]]))


def test_layers_of_other_frameworks_are_refused(small: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(small, tmp_path / "torch")
    config = (folder / "config.cfg").read_text()
    (folder / "config.cfg").write_text(config.replace("spacy.MaxoutWindowEncoder.v2", "spacy.TorchBiLSTMEncoder.v1"))
    with pytest.raises(InputError, match="layers of another framework"):
        list(SpacyTagger(str(folder)).tag([["a"]]))


def test_no_pickle_is_loaded(small: Path, tmp_path: Path) -> None:
    """In whatever file of a pipeline one lies; in all its forms where an array is expected."""
    marker = tmp_path / "loaded"
    contents = forms(marker)
    files = [path.relative_to(small) for path in sorted(small.rglob("*")) if path.is_file()]
    assert len(files) > 8
    cases = [(file, "pickle") for file in files] + [(Path("vocab/vectors"), form) for form in FORMS]
    for number, (file, form) in enumerate(cases):
        folder = shutil.copytree(small, tmp_path / str(number))
        (folder / file).write_bytes(contents[form])
        with contextlib.suppress(InputError):  # what is not read, or not needed, may hold anything
            list(SpacyTagger(str(folder)).tag([["a", "dog"]]))
        assert not marker.exists(), file
        shutil.rmtree(folder)


def test_the_shipped_tagger_is_small_and_says_where_it_comes_from() -> None:
    meta = json.loads((SHIPPED / "meta.json").read_text())
    assert meta["license"] == "CC BY-SA 4.0"
    assert "Silveira" in meta["sources"][0]["author"]
    assert meta["performance"]["sentences"]["tags"] >= 0.93
    assert meta["performance"]["sentences"]["lemmas"] >= 0.94
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) < 5 * 2**20


def test_the_shipped_tagger_knows_captions() -> None:
    captions = ["a man is slicing onions", "a man is playing guitar", "a woman plays in a play"]
    found = list(shipped_tagger().tag(caption.split() for caption in captions))
    shown = [" ".join(f"{word.lemma}/{word.pos}" for word in caption) for caption in found]
    assert shown == [
        "a/DET man/NOUN be/AUX slice/VERB onion/NOUN",
        "a/DET man/NOUN be/AUX play/VERB guitar/NOUN",
        "a/DET woman/NOUN play/VERB in/ADP a/DET play/NOUN",
    ]


def test_the_default_is_the_shipped_one() -> None:
    assert choose_tagger("default").fingerprint == shipped_tagger().fingerprint
