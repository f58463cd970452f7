from pathlib import Path

import pytest

from tests.text.tagged import FixedTagger, tagged
from vtr_core.data.concepts import building as tag_cache
from vtr_core.data.concepts.building import TagCounts, tag_captions
from vtr_core.storage import locate

ENTRIES = "dogs:dog/NOUN run/VERB two/NUM"
CAPTIONS = [("dogs", "run"), (), ("two", "dogs"), ("dogs", "run"), ("run",)]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_cache, "CHUNK", 3)


def test_no_caption_is_tagged_twice(tmp_path: Path) -> None:
    first, second, counts = FixedTagger(ENTRIES), FixedTagger(ENTRIES), TagCounts()
    found = tag_captions(iter(CAPTIONS), first, locate(tmp_path), counts)
    assert found == {
        ("dogs", "run"): tagged("dogs:dog/NOUN run/VERB"),
        (): [],
        ("two", "dogs"): tagged("two/NUM dogs:dog/NOUN"),
        ("run",): tagged("run/VERB"),
    }
    assert len(first.asked) == 4
    assert tag_captions(CAPTIONS, second, locate(tmp_path), counts) == found
    assert second.asked == []
    assert (counts.tagged, counts.found) == (4, 4)


def test_another_tagger_or_other_captions_are_tagged_anew(tmp_path: Path) -> None:
    counts = TagCounts()
    tag_captions(CAPTIONS, FixedTagger(ENTRIES), locate(tmp_path), counts)
    other = FixedTagger("dogs:hound/NOUN", fingerprint="f2")
    found = tag_captions(CAPTIONS, other, locate(tmp_path), counts)
    assert found["dogs", "run"] == tagged("dogs:hound/NOUN run/X")
    more = FixedTagger(ENTRIES)
    tag_captions([*CAPTIONS, ("two",), ("two", "two")], more, locate(tmp_path), counts)
    assert more.asked == [("run",), ("two",), ("two", "two")]  # the second chunk; the first is the same


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", b"\x80\x04."])
def test_a_damaged_file_is_made_anew(tmp_path: Path, content: bytes) -> None:
    found = tag_captions(CAPTIONS, FixedTagger(ENTRIES), locate(tmp_path), TagCounts())
    for file in tmp_path.iterdir():
        file.write_bytes(content)
    again, counts = FixedTagger(ENTRIES), TagCounts()
    assert tag_captions(CAPTIONS, again, locate(tmp_path), counts) == found
    assert (len(again.asked), counts.tagged) == (4, 4)
    assert tag_captions(CAPTIONS, FixedTagger(ENTRIES), locate(tmp_path), counts) == found
    assert counts.found == 4
