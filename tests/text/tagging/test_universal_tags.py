import pytest

from vtr_core.errors import ConfigError
from vtr_core.text.tagging.tagger import UNIVERSAL_TAGS, Part, parse_parts, part_of


def test_seventeen_tags_and_six_parts():
    assert len(UNIVERSAL_TAGS) == 17
    parts = {tag: part_of(tag) for tag in UNIVERSAL_TAGS}
    assert {tag: part.value for tag, part in parts.items() if part is not None} == {
        "NOUN": "noun",
        "PROPN": "noun",
        "VERB": "verb",
        "ADJ": "adjective",
        "ADV": "adverb",
        "ADP": "preposition",
        "CCONJ": "conjunction",
        "SCONJ": "conjunction",
    }
    assert [part.letter for part in Part] == list("nvjapc")


def test_parts_are_given_by_letter():
    assert parse_parts("j, n,v,n") == (Part.NOUN, Part.VERB, Part.ADJECTIVE)
    for wrong in ("n,x", "", "noun"):
        with pytest.raises(ConfigError, match="j adjective"):
            parse_parts(wrong)
