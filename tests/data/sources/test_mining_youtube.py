"""Mining YouTube: phrases become classes, a video's segments its ordered steps."""

from pathlib import Path

import numpy as np
import pytest

from vtr_core.data.records.arrays import TimedLabel
from vtr_core.data.sources.instructional.annotated_steps import MiningYouTube, class_of
from vtr_core.data.sources.source import Drops, StepSource, VideoEntry
from vtr_core.errors import InputError

CLASSES = {
    "crack_egg",
    "pres_it",
    "tos_it",
    "use_spatula",
    "tilt_pan",
    "add_onion",
    "add_asparagu",
    "mix_it",
    "serve_omelette",
    "add_leave",
    "add_topp",
    "whisk_egg",
    "scramble_egg",
}


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("crack_egg", "crack_egg"),
        ("crack_eggs ", "crack_egg"),
        ("Crack_Eggs", "crack_egg"),
        ("press_it", "pres_it"),
        ("toss_it", "tos_it"),
        ("using_spatula", "use_spatula"),
        ("tilting_pan", "tilt_pan"),
        ("add_onions_green", "add_onion"),
        ("add_spring_onion", "add_onion"),
        ("add_asparagus", "add_asparagu"),
        ("mix_them", "mix_it"),
        ("serve_omellete", "serve_omelette"),
        ("add_leaf_loose", "add_leave"),
        ("add_topping", "add_topp"),
        ("add_toppings", "add_topp"),
        ("scrambled_eggs", "scramble_egg"),
        ("paint_egg", None),
        ("crack", None),
        ("background", None),
    ],
)
def test_the_class_of_a_phrase(phrase: str, expected: str | None) -> None:
    assert class_of(phrase, CLASSES) == expected


def release(folder: Path, **videos: str) -> MiningYouTube:
    (folder / "annotations").mkdir()
    (folder / "weakYouTube_dict.txt").write_text("".join(f"{name} \n" for name in sorted(CLASSES)) + "background")
    (folder / "features").mkdir()
    for name, content in videos.items():
        (folder / "annotations" / f"{name}.srt").write_bytes(content.encode())
        np.save(folder / "features" / f"{name}.npy", np.ones((20, 3)))
    return MiningYouTube(annotations=str(folder), video_features=str(folder / "features"))


def block(start: str, end: str, text: str) -> str:
    return f"1\r\n00:00:{start},000 --> 00:00:{end},500\r\n{text}\r\n\r\n"


def test_segments_in_order_are_the_steps(tmp_path: Path) -> None:
    content = (
        "\ufeff" + block("07", "09", "whisk_eggs") + block("01", "03", "crack_eggs") + block("02", "08", "crack_egg")
    )
    source = release(tmp_path, v=content)
    assert isinstance(source, StepSource)
    (entry,) = source.videos(Drops(strict=True))
    assert list(source.captions([entry])) == ["crack egg", "crack egg", "whisk egg"]
    video = source.step_video(entry, Drops(strict=True))
    assert video is not None
    assert (video.video_id, video.task, list(video.steps)) == ("v", "all", ["crack egg", "crack egg", "whisk egg"])
    assert list(video.labels) == ["crack_egg", "crack_egg", "whisk_egg"]
    assert list(video.segments) == [
        TimedLabel(1.0, 3.5, "crack_egg"),
        TimedLabel(2.0, 8.5, "crack_egg"),
        TimedLabel(7.0, 9.5, "whisk_egg"),
    ]
    assert video.features["video"].shape == (20, 3)


def test_what_cannot_be_used_is_named(tmp_path: Path) -> None:
    broken = (
        block("01", "03", "crack_egg") + "2\nnever\nx\n\n" + block("05", "04", "mix_it") + block("06", "07", "paint_it")
    )
    source = release(tmp_path, good=broken, empty="", hollow=block("01", "02", "background"))
    (tmp_path / "annotations" / "latin.srt").write_bytes(b"\xe9\n")
    drops = Drops()
    assert [video.video_id for video in source.videos(drops)] == ["good"]
    assert drops.counts == {
        "bad_line": 1,
        "end_before_start": 1,
        "unknown_step": 1,
        "no_steps": 2,
        "unreadable_file": 1,
    }
    assert "good.srt, line 6: 'never' is not a time line" in drops.examples["bad_line"][0]
    assert "'paint_it' belongs to no class" in drops.examples["unknown_step"][0]
    assert "latin.srt is not text in UTF-8" in drops.examples["unreadable_file"][0]
    with pytest.raises(InputError, match=r"empty\.srt has no usable segment"):
        source.videos(Drops(strict=True))


def test_a_list_of_videos_and_their_recipes(tmp_path: Path) -> None:
    item = block("01", "03", "crack_egg")
    source = release(tmp_path, a=item, b=item, c=item)
    (tmp_path / "list.txt").write_text("c\nb\nmissing\nb\n")
    (tmp_path / "recipes.csv").write_text("video_id,recipe\nc,omelet\na,pancake\nmissing,pancake\n")
    source = source.model_copy(
        update={"videos_file": str(tmp_path / "list.txt"), "recipes": str(tmp_path / "recipes.csv")}
    )
    drops = Drops()
    entries = source.videos(drops)
    assert [(video.video_id, video.content[0]) for video in entries] == [("c", "omelet")]
    assert drops.counts == {"unknown_video": 1, "missing_file": 1}


def test_an_id_that_leads_out_is_refused(tmp_path: Path) -> None:
    source = release(tmp_path, v=block("01", "03", "crack_egg"))
    (tmp_path / "list.txt").write_text("../v\n")
    source = source.model_copy(update={"videos_file": str(tmp_path / "list.txt")})
    drops = Drops()
    assert source.videos(drops) == []
    assert drops.counts == {"unsafe_id": 1}
    assert VideoEntry("../v", None).video_id not in str(source.settings())
