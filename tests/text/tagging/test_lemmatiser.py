"""Lemmas: what the treebank knows, what spelling says, and the two together."""

import json
from pathlib import Path

import pytest

from vtr_core.text.tagging.lemmatiser import Lemmatiser, lemma_by_rule

VERBS = (
    "jogging:jog wrestling:wrestle kneading:knead dancing:dance slicing:slice rolling:roll missing:miss baking:bake "
    "mixing:mix playing:play typing:type tying:tie frying:fry skating:skate floating:float celebrating:celebrate "
    "preparing:prepare opened:open tried:try hopped:hop hoped:hope describes:describe discusses:discuss teaches:teach "
    "fixes:fix goes:go tries:try talks:talk swam:swim shook:shake bring:bring pass:pass"
)
NOUNS = (
    "dogs:dog boxes:box dishes:dish cities:city pies:pie firemen:fireman glass:glass bus:bus tennis:tennis tvs:tv "
    "gas:gas"
)


@pytest.mark.parametrize("pair", VERBS.split())
def test_verbs_by_spelling_alone(pair: str) -> None:
    form, lemma = pair.split(":")
    assert lemma_by_rule(form, "VERB", frozenset(), frozenset()) == lemma


@pytest.mark.parametrize("pair", NOUNS.split())
def test_nouns_by_spelling_alone(pair: str) -> None:
    form, lemma = pair.split(":")
    assert lemma_by_rule(form, "NOUN", frozenset(), frozenset()) == lemma


def test_known_lemmas_decide() -> None:
    nouns, verbs = {"skateboard", "lens", "cookie"}, {"visit", "singe", "sing"}
    adjectives = {"big", "nice", "happy"}
    assert lemma_by_rule("skateboarding", "VERB", verbs, nouns | verbs) == "skateboard"
    assert lemma_by_rule("lenses", "NOUN", nouns, nouns) == "lens"
    assert lemma_by_rule("cookies", "NOUN", nouns, nouns) == "cookie"
    assert lemma_by_rule("singing", "VERB", verbs, verbs) == "sing"
    forms = ["bigger", "nicest", "happier", "clever"]
    lemmas = ["big", "nice", "happy", "clever"]
    assert [lemma_by_rule(form, "ADJ", adjectives, adjectives) for form in forms] == lemmas
    assert lemma_by_rule("the", "DET", frozenset(), nouns) == "the"


def test_irregular_forms_come_before_known_lemmas_and_rules(tmp_path: Path) -> None:
    known = {"NOUN": ["man", "dog"], "VERB": ["go", "visit", "leave"], "PROPN": ["anna"]}
    irregular = {"NOUN": {"men": "man"}, "VERB": {"went": "go", "left": "leave"}}
    (tmp_path / "lemmas.json").write_text(json.dumps({"known": known, "irregular": irregular}))
    for lemmatiser in (Lemmatiser(known, irregular), Lemmatiser().from_disk(tmp_path)):
        words = {("men", "NOUN"): "man", ("went", "VERB"): "go", ("left", "VERB"): "leave", ("left", "ADJ"): "left"}
        words |= {("anna", "PROPN"): "anna", ("visited", "VERB"): "visit", ("dogs", "NOUN"): "dog"}
        assert {word: lemmatiser.lemma(*word) for word in words} == words
