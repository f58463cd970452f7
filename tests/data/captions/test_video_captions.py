from pathlib import Path

import pytest

from tests.builders.captioned import captioned_clips, captioned_videos
from tests.builders.toy_steps import toy_steps
from vtr_core.data.captions import VideoCaptions, video_captions
from vtr_core.errors import SchemaMismatch
from vtr_core.fingerprint import key64

CAPTIONS = {"a": ["A dog.", "a dog", "the dog runs"], "b": ["a cat"], "c": ["a dog", "two men"]}


@pytest.mark.parametrize("ingest", [captioned_videos, captioned_clips])
def test_every_video_comes_with_all_its_captions(tmp_path: Path, ingest) -> None:
    found = list(video_captions(ingest(tmp_path, CAPTIONS)))
    expected = [VideoCaptions(name, key64(name), tuple(captions)) for name, captions in CAPTIONS.items()]
    assert sorted(found, key=lambda video: video.video_id) == expected


def test_steps_are_no_captions(tmp_path: Path) -> None:
    with pytest.raises(SchemaMismatch, match=r"steps/1.*captions of videos/1 or clips/1"):
        video_captions(toy_steps(tmp_path))
