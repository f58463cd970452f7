"""Taggers by name, universal tags and parts of speech."""

import pytest

from tests.text.tagging.test_lemmatiser import dictionary
from tests.text.tagging.test_treetagger import install
from vtr_core.errors import ConfigError
from vtr_core.text.tagging.lemmatiser import WordNetTagger
from vtr_core.text.tagging.spacy_tagger import SHIPPED, SpacyTagger
from vtr_core.text.tagging.tagger import Part, TaggerMissing, choose_tagger, parse_parts
from vtr_core.text.tagging.treetagger import TreeTagger


def test_taggers_by_name(tmp_path, monkeypatch):
    assert choose_tagger("default", 3) == SpacyTagger(str(SHIPPED), 3)
    assert choose_tagger(f"spacy:{SHIPPED}") == SpacyTagger(str(SHIPPED), 1)
    (tmp_path / "w").mkdir()
    assert choose_tagger(f"wordnet:{dictionary(tmp_path / 'w')}") == WordNetTagger(str(tmp_path / "w"))
    assert choose_tagger(f"treetagger:{install(tmp_path)}") == TreeTagger(str(tmp_path))
    monkeypatch.setenv("TAGDIR", str(tmp_path))
    assert choose_tagger("treetagger") == TreeTagger("")


@pytest.mark.parametrize("choice", ["spacy:en_core_web_none", "wordnet:none", "treetagger:none"])
def test_a_tagger_that_is_not_there_is_told_at_once(choice):
    with pytest.raises(TaggerMissing):
        choose_tagger(choice)


@pytest.mark.parametrize("choice", ["", "penn", "spacy", "spacy:", "wordnet:", "default:x"])
def test_what_is_no_tagger(choice):
    with pytest.raises(ConfigError, match=r"give one of default, spacy:NAME"):
        choose_tagger(choice)


def test_parts_are_given_by_letter():
    assert parse_parts("j, n,v,n") == (Part.NOUN, Part.VERB, Part.ADJECTIVE)
    for wrong in ("n,x", "", "noun"):
        with pytest.raises(ConfigError, match="j adjective"):
            parse_parts(wrong)
