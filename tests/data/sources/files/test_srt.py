"""SubRip blocks become subtitles; what is no block is named by its line."""

import pytest

from vtr_core.data.sources.files import BadLine, Subtitle, parse_srt

PLAIN = "1\n00:00:01,500 --> 00:00:04,000\ncrack_egg\n\n2\n01:02:03,250 --> 01:02:04,000\nadd salt\nand pepper\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blocks_in_order(end: str) -> None:
    expected = [Subtitle(2, 1.5, 4.0, "crack_egg"), Subtitle(6, 3723.25, 3724.0, "add salt and pepper")]
    assert list(parse_srt(PLAIN.replace("\n", end))) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("00:00:01,5 --> 00:00:02\nno number", Subtitle(1, 1.5, 2.0, "no number")),
        ("7\n00:01.250-->00:02.000\npoints", Subtitle(2, 1.25, 2.0, "points")),
        ("7\n00:00:02,000 --> 00:00:02,000\nno length", Subtitle(2, 2.0, 2.0, "no length")),
        ("3", BadLine(1, "the block '3' is empty")),
        ("3\n00:00:01,000 --> 00:00:02,000", BadLine(2, "there is no text after '00:00:01,000 --> 00:00:02,000'")),
    ],
)
def test_odd_blocks(block: str, expected: Subtitle | BadLine) -> None:
    assert list(parse_srt(block)) == [expected]
    assert list(parse_srt(f"\n\n{block}\n\n\n")) != []


@pytest.mark.parametrize(
    "times", ["hello", "00:00:01,000", "00:00:01,000 --> later", "1 --> 2 --> 3", "-1:00 --> 0:01"]
)
def test_a_time_line_that_is_none_is_shown(times: str) -> None:
    (found,) = parse_srt(f"1\n{times}\ntext")
    assert isinstance(found, BadLine)
    assert (found.line, f"{times!r} is not a time line" in found.what) == (2, True)


def test_nothing_holds_nothing() -> None:
    assert list(parse_srt("")) == list(parse_srt("\n \n\t\n")) == []
