"""The released test annotations of Mining YouTube: every file parses, and the counts are those of another parse."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from vtr_core.data.sources.instructional.annotated_steps import MiningYouTube, class_text
from vtr_core.data.sources.source import Drops, VideoEntry

TIME = re.compile(r"(\d\d):(\d\d):(\d\d),(\d{3}) --> (\d\d):(\d\d):(\d\d),(\d{3})")


@pytest.fixture(scope="module")
def release(shared_data: Path) -> Path:
    return shared_data / "mining_youtube"


@pytest.fixture(scope="module")
def listed(release: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[VideoEntry], Drops]:
    features = tmp_path_factory.mktemp("features")
    np.save(features / "x.npy", np.ones((2, 3)))
    drops = Drops()
    return list(MiningYouTube(annotations=str(release), video_features=str(features)).videos(drops)), drops


def test_every_file_is_a_video_and_every_phrase_has_a_class(listed: tuple[list[VideoEntry], Drops]) -> None:
    videos, drops = listed
    segments = [segment for video in videos for segment in video.content[1]]
    assert (len(videos), len(segments)) == (250, 5129)
    assert drops.counts == {"end_before_start": 3}
    assert len({segment.label for segment in segments}) == 511
    assert max(len(video.content[1]) for video in videos) == 73
    assert min(len(video.content[1]) for video in videos) == 1


def test_a_parse_by_regular_expression_finds_the_same(release: Path, listed: tuple[list[VideoEntry], Drops]) -> None:
    found = {video.video_id: video.content[1] for video in listed[0]}
    files = sorted((release / "annotations").iterdir())
    assert sorted(found) == [file.stem for file in files]
    for file in files:
        spans = []
        for times in TIME.findall(file.read_text("utf-8-sig")):
            h, m, s, ms, h2, m2, s2, ms2 = map(int, times)
            spans.append((3600 * h + 60 * m + s + ms / 1000, 3600 * h2 + 60 * m2 + s2 + ms2 / 1000))
        expected = sorted(span for span in spans if span[1] > span[0])
        np.testing.assert_allclose([(s.start, s.end) for s in found[file.stem]], expected)


def test_most_phrases_are_their_class_literally(release: Path, listed: tuple[list[VideoEntry], Drops]) -> None:
    """A phrase that stands in the dictionary is never taken for another class."""
    names = {line.strip() for line in (release / "weakYouTube_dict.txt").read_text().splitlines()} - {"background"}
    texts = {class_text(name) for name in names}
    assert len(names) == len(texts) == 512
    assert all(len(text.split()) == 2 for text in texts)
    phrases: Counter[str] = Counter()
    for file in (release / "annotations").iterdir():
        phrases.update(line for line in map(str.strip, file.read_text("utf-8-sig").splitlines()) if line in names)
    labels = Counter(segment.label for video in listed[0] for segment in video.content[1])
    assert sum(phrases.values()) == 3898
    dropped = {"add_sugar": 1, "use_paper": 1, "grate_cheese": 1}
    assert all(labels[name] >= count - dropped.get(name, 0) for name, count in phrases.items())
    assert names - set(labels) == {"add_top"}
