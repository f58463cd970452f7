"""Lemmas: what the treebank knows, what spelling says, and the two together."""

from pathlib import Path

import pytest

from tests.text.tagged import true
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


def test_a_treebank_is_learned_with_its_exceptions(tmp_path: Path) -> None:
    sentences = [
        true("Men:man/NOUN went:go/VERB visiting:visit/VERB dogs:dog/NOUN"),
        true("men:man/NOUN left:left/ADJ"),
    ]
    found = Lemmatiser.from_treebank([*sentences, true("left:leave/VERB Anna:Anna/PROPN")])
    found.to_disk(tmp_path)
    again = Lemmatiser().from_disk(tmp_path)
    for lemmatiser in (found, again):
        assert [lemmatiser.lemma(*word) for word in (("men", "NOUN"), ("went", "VERB"), ("left", "VERB"))] == [
            "man",
            "go",
            "leave",
        ]
        assert lemmatiser.lemma("left", "ADJ") == "left"
        assert lemmatiser.lemma("anna", "PROPN") == "anna"
        assert lemmatiser.lemma("visited", "VERB") == "visit"
    assert "went" in (tmp_path / "lemmas.json").read_text()
    assert "visiting" not in (tmp_path / "lemmas.json").read_text()
