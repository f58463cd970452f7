import random

import pytest

from tests.reference.narration import published_clip
from vtr_core.data.sources.instructional import narration as segments
from vtr_core.data.sources.instructional.narration import usable
from vtr_core.data.sources.source import Drops
from vtr_core.errors import InputError


def Segment(start, end, text):  # noqa: N802
    return segments.Segment(float(start), float(end), text)


def merge(rows, min_time):
    return segments.merge(rows, float(min_time))


def test_rows_are_sorted_by_start():
    rows = [(5, 6, "b"), ("1.5", "2", "a"), (5, 5.5, "c")]
    assert usable(rows, "v", Drops(strict=True)) == [Segment(1.5, 2, "a"), Segment(5, 5.5, "c"), Segment(5, 6, "b")]


FAULTS = {
    "end before start": ((3, 2, "a"), "end_before_start", "v7, from 3 to 2 s"),
    "no length": ((3, 3, "a"), "end_before_start", "must come after"),
    "negative": ((-1, 3, "a"), "bad_time", "seconds from 0 on"),
    "NaN": ((float("nan"), 3, "a"), "bad_time", "seconds from 0 on"),
    "endless": ((0, float("inf"), "a"), "bad_time", "seconds from 0 on"),
    "not a number": (("0:12", 3, "a"), "bad_time", "from 0:12 to 3"),
    "no time": ((None, 3, "a"), "bad_time", "seconds from 0 on"),
    "no caption": ((0, 3, ""), "empty_caption", "holds no word"),
    "no word": ((0, 3, " -- "), "empty_caption", "holds no word"),
    "NaN for a caption": ((0, 3, float("nan")), "empty_caption", "the caption nan"),
    "the same again": ((1, 2, "good"), "duplicate_id", "the same row again"),
}


@pytest.mark.parametrize(("row", "reason", "message"), FAULTS.values(), ids=FAULTS)
def test_rows_at_fault_are_dropped_counted_and_named(row, reason, message):
    drops = Drops()
    assert usable([(1, 2, "good"), row], "v7", drops) == [Segment(1, 2, "good")]
    assert drops.counts == {reason: 1}
    assert message in drops.examples[reason][0]
    with pytest.raises(InputError, match=reason):
        usable([(1, 2, "good"), row], "v7", Drops(strict=True))


def test_captions_are_joined_until_they_last_long_enough():
    rows = [
        Segment(0, 2, " a"),
        Segment(2, 4, "b "),
        Segment(4, 6, "c"),
        Segment(10, 20, "d"),
        Segment(21, 22, "e"),
    ]
    assert merge(rows, 5) == [Segment(0, 6, "a b c"), Segment(10, 22, "d e")]
    assert merge(rows, 0) == [Segment(s.start, s.end, s.text.strip()) for s in rows]
    assert merge(rows, 1000) == [Segment(0, 22, "a b c d e")]
    assert merge([], 5) == []


def test_an_end_is_the_latest_of_captions_that_overlap():
    assert merge([Segment(0, 9, "a"), Segment(1, 3, "b"), Segment(2, 4, "c")], 9.5) == [Segment(0, 9, "a b c")]


def test_every_caption_is_in_one_clip_and_every_clip_but_a_lone_one_is_long_enough():
    rng = random.Random(0)
    for _ in range(300):
        starts = sorted(rng.uniform(0, 60) for _ in range(rng.randrange(1, 12)))
        rows = [Segment(start, start + rng.uniform(0.1, 8), f"w{i}") for i, start in enumerate(starts)]
        clips = merge(rows, 5.0)
        assert " ".join(clip.text for clip in clips) == " ".join(segment.text for segment in rows)
        assert len(clips) == 1 or all(clip.end - clip.start >= 5 for clip in clips)


def test_merging_takes_time_in_proportion_to_the_captions() -> None:
    """Many captions of one moment, which never last long enough, are joined once and not again for each."""
    segments = [Segment(1.0, 1.5, f"w{number}") for number in range(20_000)]
    (clip,) = merge(segments, 5.0)
    assert (clip.start, clip.end, clip.text.count(" ")) == (1.0, 1.5, 19_999)


def test_published_clips_are_extended_to_the_nearer_neighbour():
    rows = [Segment(0, 2, "a"), Segment(2, 3, " b"), Segment(4, 7, "c"), Segment(20, 26, "d")]
    assert segments.overlapping(rows, 5.0) == [
        Segment(0, 7, "a b c"),  # nothing comes before
        Segment(0, 7, "b a c"),  # a ends it at 3 s of length, c at 5
        Segment(2, 7, "c b"),
        Segment(20, 26, "d"),
    ]
    assert segments.overlapping(rows, 0.0) == [Segment(s.start, s.end, s.text.strip()) for s in rows]
    assert {(s.start, s.end) for s in segments.overlapping(rows, 1000.0)} == {(0, 26)}
    assert segments.overlapping([], 5.0) == []


@pytest.mark.parametrize("seed", range(20))
def test_published_clips_equal_the_reference(seed):
    draw = random.Random(seed)
    starts = sorted(draw.choice([draw.uniform(0, 60), float(draw.randrange(60))]) for _ in range(draw.randrange(1, 30)))
    rows = [Segment(start, start + draw.uniform(0.1, 6), f"w{i}") for i, start in enumerate(starts)]
    min_time = draw.choice([2.0, 5.0, 10.0])
    told = [(s.start, s.end, s.text) for s in rows]
    expected = [published_clip(told, own, min_time) for own in range(len(rows))]
    assert [(s.start, s.end, s.text) for s in segments.overlapping(rows, min_time)] == expected
