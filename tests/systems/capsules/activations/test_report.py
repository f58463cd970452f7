"""The report and its page: what was read comes out, in full and escaped."""

import json
import re

import numpy as np
import pytest

from vtr_core.analysis.capsule_usage import TopClips, UsageMeter
from vtr_core.errors import ConfigError
from vtr_core.systems.capsules.activation_findings import ReadDataset, activation_report, youtube_link
from vtr_core.systems.capsules.activation_report import ActivationReport, ReportOptions, chance, decimals, render_page
from vtr_core.systems.capsules.activations import Clip, DatasetActivations, ModalityActivations
from vtr_core.time_span import clock

EVIL = "<script>alert(1)</script>"
YOUTUBE = "dQw4w9WgXcQ"
CLIPS = 400


def read(
    seed: int, video_id: str = "video7", caption: str = "a dog runs", absent: tuple[str, ...] = ()
) -> DatasetActivations:
    """Capsule 0 of four fires for dogs in video and text; all clips have the same id and captions."""
    rng = np.random.default_rng(seed)
    dog = np.arange(CLIPS) % 10 == 0
    words = tuple(frozenset({"dog"} if d else {"cat", f"w{i % 7}"}) for i, d in enumerate(dog))
    clips = {
        i: Clip(
            f"clip{i}", video_id, 62.0 + i, 3700.0, (caption, "second", caption, "third", "fourth"),
            np.array([[0.1], [0.2], [0.3], [0.4], [0.5]], np.float32) @ np.ones((1, 4), np.float32),
        )
        for i in range(CLIPS)
    }  # fmt: skip

    def modality() -> ModalityActivations:
        values = rng.random((CLIPS, 4)).astype(np.float32)
        values[:, 0] += dog
        meter = UsageMeter(4)
        meter.add(values)
        top = TopClips.empty(2, 4).with_clips(np.arange(CLIPS), values)
        return ModalityActivations(meter.usage(), top, np.ones(CLIPS, bool), values)

    parts = {name: modality() for name in ("text", "video") if name not in absent}
    return DatasetActivations(CLIPS, clips, words, np.arange(CLIPS), parts, absent)


def report(*datasets: DatasetActivations, name: str = "d", invented: bool = False) -> ActivationReport:
    sets = [ReadDataset(f"{name}{i}", f"/data/{i}", "f", invented, part) for i, part in enumerate(datasets)]
    return activation_report("/run", "capsule-x", 7, sets, ReportOptions(top=2))


def test_the_planted_concept_is_the_capsule_s_strongest_on_both_sets() -> None:
    found = report(read(0), read(1))
    part = found.capsules[0].modalities[1]
    assert [c.word for c in part.cells[0].concepts] == ["dog"]
    assert part.strongest is not None
    assert part.strongest.word == "dog"
    assert part.cells[1].against[0].word == "cat"
    assert found.capsules[2].modalities[1].strongest is None
    assert [summary.named_capsules for summary in found.datasets[0].modalities] == [1, 1]
    assert [(pair.modality, pair.first, pair.second) for pair in found.agreement] == [("text", 0, 1), ("video", 0, 1)]
    assert found.agreement[1].same[0] == pytest.approx(1, abs=0.3)


def test_captions_are_distinct_and_in_text_the_strongest_come_first() -> None:
    text, video = report(read(0)).capsules[0].modalities
    assert video.cells[0].clips[0].captions == ("a dog runs", "second", "third")
    assert text.cells[0].clips[0].captions == ("fourth", "third", "a dog runs")
    assert text.cells[0].clips[0].num_captions == 4


def test_the_page_holds_what_the_json_holds() -> None:
    found = report(read(0), read(1, absent=("text",)))
    values = json.loads(json.dumps(found.to_json(), allow_nan=False))
    page = render_page(found)
    assert "No clip of this data set has text." in page
    assert values["datasets"][1]["absent"] == ["text"]
    text, video = values["capsules"][0]["modalities"]
    assert (len(text["cells"]), len(video["cells"])) == (1, 2)
    shown = [clip for c in values["capsules"] for m in c["modalities"] for cell in m["cells"] for clip in cell["clips"]]
    assert page.count("<li>") == len(shown) == 4 * 3 * 2
    assert all(f"{clip['activation']:.4g}" in page for clip in shown)
    dog = video["cells"][0]["concepts"][0]
    assert f">{dog['bits']:.3f}<" in page
    assert chance(dog["p"]) in page


@pytest.mark.parametrize("where", ["caption", "video id", "name"])
def test_what_a_data_set_says_is_text(where: str) -> None:
    changed = {"caption": {"caption": EVIL}, "video id": {"video_id": EVIL}, "name": {}}[where]
    page = render_page(report(read(0, **changed), read(1, **changed), name=EVIL if where == "name" else "d"))
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert page.count("<script") == 1  # the page's own


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


def test_numbers_for_people() -> None:
    assert [clock(s) for s in (0.4, 59.6, 3700.0)] == ["0:00", "1:00", "1:01:40"]
    assert [chance(p) for p in (0.0, 3.2e-14, 0.0123)] == ["< 1e-300", "3e-14", "0.012"]
    assert (decimals(None, 2), decimals(0.456, 2)) == ("–", "0.46")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"top": 0}, "--top is 0"),
        ({"active_share": 1.0}, "--active-share is 1"),
        ({"max_rows": 1}, "--max-rows is 1"),
        ({"false_discoveries": 0.0}, "--false-discoveries is 0"),
        ({"seed": -1}, "--seed is -1"),
    ],
)
def test_unsuitable_options_are_named(change: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ReportOptions(**change)  # type: ignore[arg-type]
