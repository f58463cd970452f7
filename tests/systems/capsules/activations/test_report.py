"""The report and its page: what was read comes out, in full and escaped."""

import json
import re
from typing import Any

import numpy as np
import pytest

from vtr_core.systems.capsules.activation_report import (
    ReadDataset,
    activation_report,
    render_page,
    youtube_link,
)
from vtr_core.systems.capsules.activations import ClipActivations

EVIL = "<script>alert(1)</script>"
YOUTUBE = "dQw4w9WgXcQ"
CLIPS = 400


def read(
    seed: int, video_id: str = "video7", caption: str = "one runs", absent: tuple[str, ...] = ()
) -> ClipActivations:
    """Capsule 0 of four fires for dogs in video and text; all clips have the same id."""
    rng = np.random.default_rng(seed)
    dog = np.arange(CLIPS) % 10 == 0
    captions = np.empty(CLIPS, object)
    for i, is_dog in enumerate(dog):
        captions[i] = (f"{caption} dog" if is_dog else f"{caption} cat w{i % 7}", "second", "second", "third", "fourth")
    activations = {name: rng.random((CLIPS, 4)).astype(np.float32) for name in ("text", "video")}
    for values in activations.values():
        values[:, 0] += dog
    clips = {
        "clip_id": np.array([f"clip{i}" for i in range(CLIPS)]),
        "video_id": np.array([video_id] * CLIPS),
        "video_key": np.arange(CLIPS),
        "start": 62.0 + np.arange(CLIPS),
        "end": np.full(CLIPS, 3700.0),
        "captions": captions,
    }
    present = {name: np.full(CLIPS, name not in absent) for name in activations}
    return ClipActivations(CLIPS, clips, present, activations)


def report(*datasets: ClipActivations, name: str = "d", invented: bool = False) -> dict[str, Any]:
    sets = [ReadDataset(f"{name}{i}", f"/data/{i}", "f", invented, part) for i, part in enumerate(datasets)]
    return activation_report("/run", "capsule-x", 7, sets, top=2)


def test_the_planted_concept_is_the_capsule_s_strongest_on_both_sets() -> None:
    found = report(read(0), read(1))
    for part in found["capsules"][0]["modalities"]:
        assert [cell["concepts"][0]["word"] for cell in part["cells"]] == ["dog", "dog"]
    assert found["capsules"][2]["modalities"][1]["cells"][0]["concepts"] == []
    assert [summary["named_capsules"] for summary in found["datasets"][0]["modalities"]] == [1, 1]


def test_the_strongest_clips_of_a_capsule_come_first_with_distinct_captions() -> None:
    found = read(0)
    values = found.activations["video"][:, 3]
    clips = report(found)["capsules"][3]["modalities"][1]["cells"][0]["clips"]
    expected = sorted(range(CLIPS), key=lambda i: -values[i])[:2]
    assert [clip["clip_id"] for clip in clips] == [f"clip{i}" for i in expected]
    assert clips[0]["captions"][1:] == ("second", "third")


def test_the_page_holds_what_the_json_holds() -> None:
    found = report(read(0), read(1, absent=("text",)))
    values = json.loads(json.dumps(found, allow_nan=False))
    page = render_page(found)
    assert "No clip of this data set has text." in page
    assert values["datasets"][1]["absent"] == ["text"]
    text, video = values["capsules"][0]["modalities"]
    assert (len(text["cells"]), len(video["cells"])) == (1, 2)
    shown = [clip for c in values["capsules"] for m in c["modalities"] for cell in m["cells"] for clip in cell["clips"]]
    assert page.count("<li>") == len(shown) == 4 * 3 * 2
    assert all(f"{clip['activation']:.4g}" in page for clip in shown)
    assert f">{video['cells'][0]['concepts'][0]['bits']:.3f}<" in page


@pytest.mark.parametrize("where", ["caption", "video id", "name"])
def test_what_a_data_set_says_is_text(where: str) -> None:
    changed = {"caption": {"caption": EVIL}, "video id": {"video_id": EVIL}, "name": {}}[where]
    page = render_page(report(read(0, **changed), read(1, **changed), name=EVIL if where == "name" else "d"))
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page


def test_a_page_needs_nothing_else_and_no_other_host() -> None:
    page = render_page(report(read(0)))
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert "http" not in page


def test_only_what_may_be_a_youtube_id_is_linked() -> None:
    page = render_page(report(read(0, video_id=YOUTUBE)))
    assert re.search(rf'<a href="https://www.youtube.com/watch\?v={YOUTUBE}&amp;t=\d+s" rel="noopener', page)
    assert "youtube" not in render_page(report(read(0, video_id=YOUTUBE), invented=True))
    assert "youtube" not in render_page(report(read(0)))


@pytest.mark.parametrize(
    "video_id", ["", "video7010", "dQw4w9WgXc", "dQw4w9WgXcQQ", 'dQw4w9WgX"Q', "dQw4w9WgXcR", f"{YOUTUBE}\n"]
)
def test_other_ids_are_not_linked(video_id: str) -> None:
    assert youtube_link(video_id, 3.0) is None


def test_a_link_starts_at_the_clip_s_second() -> None:
    assert youtube_link(YOUTUBE, 62.9) == f"https://www.youtube.com/watch?v={YOUTUBE}&t=62s"
    assert youtube_link(YOUTUBE, -1.0) == f"https://www.youtube.com/watch?v={YOUTUBE}&t=0s"
