"""Captions of all videos are listed at once, in little memory."""

import pickle

from vtr_core.data.sources.captioned_videos import CaptionedVideo
from vtr_core.data.sources.pairs import PairRow

ROWS = (
    PairRow("a:0.1-8", "a", None, 0.1, 8, "ein Hund “läuft”\n\x85 🎬", ("films/a.mp4", None)),
    PairRow("a", "a", "test", None, None, "", (), (("channel", "news 0"), ("year", ""))),
)


def test_rows_come_back_as_they_were() -> None:
    video = CaptionedVideo.of("films/a.mp4", ROWS, keep=True)
    assert video.rows == ROWS
    assert [type(row.end) for row in video.rows] == [int, type(None)]
    assert pickle.loads(pickle.dumps(video)) == video
    assert CaptionedVideo.of("films/a.mp4", ()).rows == ()


def test_they_are_small() -> None:
    rows = [PairRow(f"a:{k}", "a", None, k, k + 8.5, f"then we cut onion number {k}", ("a",)) for k in range(50)]
    assert len(CaptionedVideo.of("a", rows).packed) < 25 * len(rows)
