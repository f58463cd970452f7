"""Key frames of clips: thumbnails first, else the picture at the clip's middle of its video file; faults give none."""

import io
from pathlib import Path

import numpy as np
from PIL import Image

from tests.builders.small_videos import grey_video, number
from tests.builders.toy import toy_dataset
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.data.sources.video_files import Inventory
from vtr_core.extraction.pictures import ClipFrames, ClipSpan


def test_the_picture_at_the_middle_of_a_clip(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    grey_video(files / "v0.mp4", [k / 2 for k in range(20)], frame_rate=2)  # frame k is shown from k/2 s
    (files / "v1.mp4").write_bytes(b"no video")
    frames = ClipFrames(
        Thumbnails(toy_dataset(tmp_path / "data")[0]),
        Inventory(str(files)),
        [
            ClipSpan("v0:0", "v0", 0.0, 5.0),
            ClipSpan("v0:1", "v0", 8.0, 9.0),
            ClipSpan("v0:late", "v0", 90.0, 99.0),
            ClipSpan("v1:0", "v1", 0.0, 1.0),
            ClipSpan("v2:0", "v2", 0.0, 1.0),
            ClipSpan("v0:unasked", "v0", 0.0, 1.0),
        ],
    )
    frames_of = frames.find(["v0:0", "v0:1", "v0:late", "v1:0", "v2:0"])
    shown = {item: number(np.asarray(Image.open(io.BytesIO(frame.jpeg)))) for item, frame in frames_of.items()}
    assert shown == {"v0:0": 5, "v0:1": 17}
    assert (frames_of["v0:1"].start, frames_of["v0:1"].end) == (8.0, 9.0)


def test_without_files_there_are_the_thumbnails(tmp_path: Path) -> None:
    frames = ClipFrames(Thumbnails(toy_dataset(tmp_path / "data")[0]), spans=[ClipSpan("v0:0", "v0", 0.0, 1.0)])
    assert frames.find(["v0:0"]) == {}
