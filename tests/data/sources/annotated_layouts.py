"""Small annotation files of data sets in their published layouts, and what they hold."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

Listed = tuple[str, str, tuple[str, ...]]
"""A video's id, split and captions."""


def moment(video: str, text: str) -> dict[str, object]:
    return {"annotation_id": 1, "video": video, "description": text, "times": [[0, 1], [0, 0]], "num_segments": 6}


def write_didemo(root: Path) -> None:
    content = {
        "train": [
            moment("1@N01_a.avi", "a cat sleeps"),
            moment("2@N01_b.mov", "rain"),
            moment("1@N01_a.avi", "it wakes"),
        ],
        "val": [moment("3@N01_c.3gp", "a wave")],
        "test": [moment("4@N01_d.mp4", "a dog  runs\n"), moment("4@N01_d.mp4", "it stops")],
    }
    for split, moments in content.items():
        (root / f"{split}_data.json").write_text(json.dumps(moments))


def described(duration: float, *sentences: str) -> dict[str, object]:
    return {"duration": duration, "timestamps": [[0.0, 1.5] for _ in sentences], "sentences": list(sentences)}


def write_activitynet(root: Path) -> None:
    train = {"v_a": described(82.73, "A man kneels.", " He cuts wood."), "v_b": described(10, "Rain.")}
    for name, content in (
        ("train", train),
        ("val_1", {"v_c": described(30.5, "A dog runs.", " It stops.")}),
    ):
        (root / f"{name}.json").write_text(json.dumps(content))


def write_msvd(root: Path) -> None:
    captions = {"a_1_2": ["a man runs", "someone runs"], "b_3_4": ["a dog"], "c_5_6": ["rain", "it rains"]}
    (root / "captions_msvd.json").write_text(json.dumps(captions))
    for split, video in zip(("train", "val", "test"), captions, strict=True):
        (root / f"{split}_list.txt").write_text(f"{video}\n")


WRITERS: Mapping[str, Callable[[Path], None]] = MappingProxyType(
    {"didemo": write_didemo, "activitynet": write_activitynet, "msvd": write_msvd}
)
HELD: Mapping[str, list[Listed]] = MappingProxyType(
    {
        "didemo": [
            ("1@N01_a", "train", ("a cat sleeps it wakes",)),
            ("2@N01_b", "train", ("rain",)),
            ("3@N01_c", "val", ("a wave",)),
            ("4@N01_d", "test", ("a dog runs it stops",)),
        ],
        "activitynet": [
            ("v_a", "train", ("A man kneels. He cuts wood.",)),
            ("v_b", "train", ("Rain.",)),
            ("v_c", "test", ("A dog runs. It stops.",)),
        ],
        "msvd": [
            ("a_1_2", "train", ("a man runs", "someone runs")),
            ("b_3_4", "val", ("a dog",)),
            ("c_5_6", "test", ("rain", "it rains")),
        ],
    }
)
