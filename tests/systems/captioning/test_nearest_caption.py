from pathlib import Path

import numpy as np

from tests.builders.captioned import CaptionedVideos
from tests.builders.toy import written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.source import Drops, Video, VideoEntry
from vtr_core.systems.captioning.generated_captions import nearest_captions

LOOKS = {"a": (1.0, 0.0), "b": (0.0, 1.0), "c": (-1.0, -1.0), "x": (0.9, 0.2), "y": (0.1, 0.8), "z": (-0.5, -0.6)}
CAPTIONS = {
    "a": ["somebody", "a man runs fast", "a man runs"],
    "b": ["a dog sleeps", "the dog sleeps on a mat", "a cat"],
    "c": ["a bird"],
}


class Looking(CaptionedVideos):
    """Every video's frames are its look."""

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        return Video(video.video_id, video.content, {"video": np.array([LOOKS[video.video_id]] * 3, np.float16)})


def data(folder: Path, captions: dict[str, list[str]]) -> Manifest:
    return written(Looking(captions), folder, IngestOptions(videos_per_shard=2))[0]


def test_the_typical_caption_of_the_nearest_video_is_said(tmp_path: Path) -> None:
    training = data(tmp_path / "train", CAPTIONS)
    test = data(tmp_path / "test", {"x": ["a boy runs"], "y": [], "z": ["a crow"]})
    found = nearest_captions(training, test, "video")
    assert found.hypotheses["x"] in ("a man runs fast", "a man runs")
    assert found.hypotheses["y"] in ("a dog sleeps", "the dog sleeps on a mat")
    assert found.hypotheses["z"] == "a bird"
    assert found.references == {"x": ("a boy runs",), "y": (), "z": ("a crow",)}
