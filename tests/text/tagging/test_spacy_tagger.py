"""The shipped tagger, and pipelines that are not there or not whole."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest
import spacy

from tests.security.payload import FORMS, forms
from vtr_core.errors import InputError
from vtr_core.text.tagging.spacy_tagger import SHIPPED, SpacyTagger, shipped_tagger
from vtr_core.text.tagging.tagger import PosTagger, TaggerMissing


def test_it_gives_one_tagged_word_per_word() -> None:
    tagger = shipped_tagger()
    assert isinstance(tagger, PosTagger)
    captions = [["the", "men", "are", "running"], [], ["red", "dogs"]]
    tagged = list(tagger.tag(captions))
    assert [[word.text for word in caption] for caption in tagged] == captions
    assert [word.pos for word in tagged[0]] == ["DET", "NOUN", "AUX", "VERB"]
    assert [word.lemma for word in tagged[0]] == ["the", "man", "be", "run"]


def test_several_processes_give_the_same() -> None:
    captions = [["red", "dogs"], ["the", "men", "run"], ["a", "dog"]] * 7
    assert list(SpacyTagger(str(SHIPPED), 2).tag(captions)) == list(SpacyTagger(str(SHIPPED)).tag(captions))


def test_name_and_fingerprint(tmp_path: Path) -> None:
    tagger = SpacyTagger(str(SHIPPED))
    assert tagger.name == f"spaCy {spacy.__version__} en_captions_ewt 1.0.0"
    changed = shutil.copytree(SHIPPED, tmp_path / "changed")
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


def test_layers_of_other_frameworks_are_refused(tmp_path: Path) -> None:
    folder = shutil.copytree(SHIPPED, tmp_path / "torch")
    config = (folder / "config.cfg").read_text()
    (folder / "config.cfg").write_text(config.replace("spacy.MaxoutWindowEncoder.v2", "spacy.TorchBiLSTMEncoder.v1"))
    with pytest.raises(InputError, match="layers of another framework"):
        list(SpacyTagger(str(folder)).tag([["a"]]))


def test_no_pickle_is_loaded(tmp_path: Path) -> None:
    """In whatever file of a pipeline one lies; in all its forms where an array is expected."""
    marker = tmp_path / "loaded"
    contents = forms(marker)
    files = [path.relative_to(SHIPPED) for path in sorted(SHIPPED.rglob("*")) if path.is_file()]
    assert len(files) > 8
    cases = [(file, "pickle") for file in files] + [(Path("vocab/vectors"), form) for form in FORMS]
    for number, (file, form) in enumerate(cases):
        folder = shutil.copytree(SHIPPED, tmp_path / str(number))
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
