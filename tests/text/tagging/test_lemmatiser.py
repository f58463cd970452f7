"""Lemmas by rules, and WordNet's."""

import json
from pathlib import Path

import pytest

from vtr_core.errors import InputError
from vtr_core.text.tagging.lemmatiser import Lemmatiser, WordNetTagger, candidates, lemma_by_rule, read_wordnet
from vtr_core.text.tagging.tagger import PosTagger, TaggedWord, TaggerMissing

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


LICENCE = "  1 This software and database is being provided to you, the LICENSEE\n  2 and more\n"
INDEX = {
    "noun": ["dog", "play", "man", "fly", "cut", "church", "glass", "box", "slicing", "in", "stir_fry"],
    "verb": ["play", "fly", "cut", "slice", "try", "stop", "man"],
    "adj": ["big", "nice", "cut"],
    "adv": ["quickly", "well"],
}
SENSES = """\
cut%2:35:00:: 01552519 1 67
cut%1:04:00:: 00351168 1 4
cut%3:00:00:: 00662589 1 2
dog%1:05:00:: 02084071 1 42
dog%2:38:00:: 02001858 1 2
play%2:33:00:: 01072949 1 52
play%1:10:00:: 07007945 1 16
man%1:18:00:: 10287213 1 149
man%2:33:00:: 01088304 1 2
fly%2:38:00:: 01940403 1 21
slice%2:35:00:: 01254477 1 2
slicing%1:04:00:: 00357906 1 0
nice%5:00:00:pleasant:00 01586752 1 12
nice%3:00:00:: 01586752 2 3
in%1:23:00:: 13649268 1 0
"""


def dictionary(folder: Path, counts: str = "index.sense") -> str:
    folder.mkdir(exist_ok=True)
    for ending, lemmas in INDEX.items():
        lines = "".join(f"{lemma} {ending[0]} 1 0 1 1 00000001  \n" for lemma in sorted(lemmas))
        (folder / f"index.{ending}").write_text(LICENCE + lines)
    (folder / "noun.exc").write_text("men man\n")
    (folder / "verb.exc").write_text("flew fly\ntried try\nstopped stop\n")
    fields = [line.split() for line in SENSES.splitlines()]
    content = {
        "index.sense": SENSES,
        "cntlist": "".join(f"{count} {key} {number}\n" for key, _, number, count in fields),
        "cntlist.rev": "".join(f"{key} {number} {count}\n" for key, _, number, count in fields),
    }
    (folder / counts).write_text(content[counts])
    return str(folder)


@pytest.mark.parametrize("counts", ["index.sense", "cntlist", "cntlist.rev"])
def test_a_word_is_its_most_frequent_sense(tmp_path: Path, counts: str) -> None:
    tagger = WordNetTagger(dictionary(tmp_path, counts))
    assert isinstance(tagger, PosTagger)
    found = list(tagger.tag([["the", "men", "cut", "nicer", "dogs"], [], ["plays", "flew", "quickly"]]))
    assert found == [
        [
            TaggedWord("the", "the", "X"),
            TaggedWord("men", "man", "NOUN"),
            TaggedWord("cut", "cut", "VERB"),
            TaggedWord("nicer", "nice", "ADJ"),
            TaggedWord("dogs", "dog", "NOUN"),
        ],
        [],
        [
            TaggedWord("plays", "play", "VERB"),
            TaggedWord("flew", "fly", "VERB"),
            TaggedWord("quickly", "quickly", "ADV"),
        ],
    ]


@pytest.mark.parametrize(
    ("word", "tag", "lemmas"),
    [
        ("churches", "NOUN", ["church"]),
        ("boxes", "NOUN", ["box"]),
        ("flies", "NOUN", ["fly"]),
        ("flies", "VERB", ["fly"]),
        ("tries", "VERB", ["try"]),
        ("slicing", "VERB", ["slice"]),
        ("slicing", "NOUN", ["slicing"]),
        ("stopped", "VERB", ["stop"]),  # only by its exception: no rule undoes a double letter
        ("stopping", "VERB", []),
        ("glass", "NOUN", ["glass"]),
        ("nicest", "ADJ", ["nice"]),
        ("wells", "ADV", []),
    ],
)
def test_morphology(tmp_path: Path, word: str, tag: str, lemmas: list[str]) -> None:
    assert candidates(word, tag, read_wordnet(dictionary(tmp_path))) == lemmas


def test_a_sense_that_was_met_beats_an_earlier_part_that_was_not(tmp_path: Path) -> None:
    (caption,) = WordNetTagger(dictionary(tmp_path)).tag([["slicing", "glass"]])
    assert caption == [TaggedWord("slicing", "slice", "VERB"), TaggedWord("glass", "glass", "NOUN")]


def test_the_fingerprint_is_of_the_files(tmp_path: Path) -> None:
    first, second = dictionary(tmp_path / "a"), dictionary(tmp_path / "b")
    assert WordNetTagger(first).fingerprint == WordNetTagger(second).fingerprint
    (tmp_path / "b" / "noun.exc").write_text("men man\nmice mouse\n")
    assert WordNetTagger(first).fingerprint != WordNetTagger(second).fingerprint


def test_a_folder_without_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaggerMissing, match=r"lacks index\.noun, index\.verb, index\.adj, index\.adv"):
        WordNetTagger(str(tmp_path)).fingerprint  # noqa: B018
    dictionary(tmp_path)
    (tmp_path / "index.sense").unlink()
    with pytest.raises(TaggerMissing, match=r"lacks one of index\.sense, cntlist\.rev, cntlist"):
        list(WordNetTagger(str(tmp_path)).tag([["dog"]]))


@pytest.mark.parametrize("content", [b"dog\n", b"dog%9:1:: 1 1 1\n", b"dog%1:05:00:: 1 1 x\n", b"\xff\xfe\x00"])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    dictionary(tmp_path)
    (tmp_path / "index.sense").write_bytes(content)
    with pytest.raises(InputError, match=r"index\.sense"):
        list(WordNetTagger(str(tmp_path)).tag([["dog"]]))
