import random

import pytest

from tests.text.tagged import true
from vtr_core.text.tagging.treebank import as_scene, third_person


def test_somebody_does_something_in_the_present():
    told = true("they/PRON[Case=Nom] said:say/VERB[Mood=Ind|Tense=Past] she/PRON[Case=Nom] was:be/AUX running:run/VERB")
    found = as_scene(told, random.Random(0))
    assert [word.pos for word in found if word.text in ("says", "is", "running")] == ["VERB", "AUX", "VERB"]
    assert not {"they", "she", "said", "was"} & {word.text for word in found}
    assert "NOUN" in [word.pos for word in found]
    assert found == as_scene(told, random.Random(0))
    assert found != as_scene(told, random.Random(1))


def test_the_rest_stays():
    told = true("tell/VERB[Mood=Imp] him:he/PRON[Case=Acc] the/DET killed:kill/VERB[VerbForm=Part]")
    assert as_scene(told, random.Random(0)) == told


@pytest.mark.parametrize(
    ("lemma", "form"),
    [("talk", "talks"), ("go", "goes"), ("try", "tries"), ("play", "plays"), ("mix", "mixes"), ("have", "has")],
)
def test_third_person(lemma, form):
    assert third_person(lemma) == form
