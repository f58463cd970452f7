"""What the frame vectors of MSR-VTT-800 hold that scales in time could use.

Two measurements on whole videos: how much of the frames' energy lies between videos and at each scale of time within
them, and how well a linear map finds captions from the means of 1, 2, 4, 8 and 16 windows of a video.

    python -m benchmarks.msrvtt_800.frame_scales --data ../shared/data
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize

from benchmarks.machine import processor, versions
from benchmarks.msrvtt_800.caption_pretraining import msrvtt_videos
from pipelines.arguments import parse
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.evaluated_rows import video_rows

WINDOWS = (1, 2, 4, 8, 16)
_ALPHAS = (0.1, 1.0, 10.0, 100.0, 1000.0)
_LSA, _FRAMES = 400, 64
RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Flags:
    """Where the data is, and where to work."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations and msrvtt/features."""
    work: str = "runs/caption-pretraining"
    """Folder of the data set of whole videos."""


@dataclass(frozen=True)
class Videos:
    """Videos of a split: the means of their windows, and their captions."""

    windows: Mapping[int, Float[np.ndarray, "videos windows dim"]]
    captions: Sequence[str]
    owner: np.ndarray
    """The video of each caption."""


def main(argv: Sequence[str]) -> None:
    """Measure, print and write the page."""
    flags = parse(Flags, argv, "python -m benchmarks.msrvtt_800.frame_scales")
    data = msrvtt_videos(Path(flags.data), Path(flags.work) / "videos")
    sets = {name: _read(Manifest.load(data[name])) for name in ("train", "val", "test")}
    found = {"energy": energy(sets["train"]), "recall": recalls(sets), "machine": processor()}
    found["versions"] = versions("numpy", "scikit-learn")
    (RESULTS / "frame_scales.json").write_text(json.dumps(found, indent=1) + "\n")
    (RESULTS / "frame_scales.md").write_text(_page(found))
    print(_page(found))


def energy(videos: Videos) -> dict[str, float]:
    """Shares of the variance of the finest windows: between videos, and added by each halving of windows within."""
    finest = videos.windows[WINDOWS[-1]]
    whole = float(((finest - finest.mean(axis=(0, 1))) ** 2).mean())
    coarse = {count: np.repeat(videos.windows[count], WINDOWS[-1] // count, axis=1) for count in WINDOWS}
    shares = {"between videos": float(((coarse[1] - finest.mean(axis=(0, 1))) ** 2).mean()) / whole}
    for before, after in pairwise(WINDOWS):
        shares[f"{before} → {after} windows"] = float(((coarse[after] - coarse[before]) ** 2).mean()) / whole
    return shares


def recalls(sets: Mapping[str, Videos]) -> dict[str, float]:
    """R@10 of the test captions among the test videos, by the windows whose means the linear map reads."""
    words = TfidfVectorizer(sublinear_tf=True, min_df=3, stop_words="english")
    reduce = TruncatedSVD(_LSA, random_state=0)
    text = {"train": normalize(reduce.fit_transform(words.fit_transform(sets["train"].captions)))}
    text |= {name: normalize(reduce.transform(words.transform(sets[name].captions))) for name in ("val", "test")}
    target = np.stack(
        [text["train"][sets["train"].owner == video].mean(axis=0) for video in range(_count(sets["train"]))]
    )
    found = {}
    for last in range(1, len(WINDOWS) + 1):
        seen = {
            name: np.concatenate([one.windows[count].reshape(_count(one), -1) for count in WINDOWS[:last]], axis=1)
            for name, one in sets.items()
        }
        mean, size = seen["train"].mean(axis=0), seen["train"].std(axis=0) + 1e-6
        seen = {name: (values - mean) / size for name, values in seen.items()}
        maps = [Ridge(alpha * seen["train"].shape[1]).fit(seen["train"], target) for alpha in _ALPHAS]
        best = max(maps, key=lambda one: _recall(one.predict(seen["val"]), text["val"], sets["val"].owner))
        label = " + ".join(map(str, WINDOWS[:last]))
        found[label] = _recall(best.predict(seen["test"]), text["test"], sets["test"].owner)
    return found


def _recall(videos: np.ndarray, captions: np.ndarray, owner: np.ndarray) -> float:
    """The percentage of captions whose video is among the 10 nearest by cosine.

    Where scores tie with that of the own video, others come first, so that captions without a known word are missed.
    """
    scores = captions @ normalize(videos).T
    own = scores[np.arange(len(owner)), owner][:, None]
    return float(100 * ((scores >= own).sum(axis=1) <= 10).mean())


def _count(videos: Videos) -> int:
    return len(videos.windows[1])


def _read(manifest: Manifest) -> Videos:
    frames, captions, owner = [], list[str](), list[int]()
    for rows in video_rows(manifest, row_groups(manifest), _FRAMES):
        for place, mask in enumerate(rows.mask["video"]):
            frames.append(rows.frames["video"][place][mask].double().numpy())
        captions += rows.captions
        owner += (rows.caption_video + len(frames) - len(rows.video_id)).tolist()
    means = [{count: _means(one, count) for count in WINDOWS} for one in frames]
    return Videos({count: np.stack([one[count] for one in means]) for count in WINDOWS}, captions, np.array(owner))


def _means(frames: np.ndarray, count: int) -> np.ndarray:
    """The means of `count` runs of frames, each made of whole sixteenths of the video."""
    sixteenths = np.stack([part.mean(axis=0) for part in np.array_split(frames, WINDOWS[-1])])
    return sixteenths.reshape(count, WINDOWS[-1] // count, -1).mean(axis=1)


def _page(found: Mapping[str, Any]) -> str:
    lines = [
        "# What the frame vectors of MSR-VTT-800 hold at each scale of time",
        "",
        "Vectors of 128 values, 50 frames of a video. Share of their variance, in means of sixteenths of a video:",
        "",
        "| where | share |",
        "|---|---:|",
        *(f"| {name} | {100 * share:.1f} % |" for name, share in found["energy"].items()),
        "",
        "R@10 of single captions among the test videos, by ridge regression from means of windows to LSA vectors of "
        "captions, its strength chosen by validation:",
        "",
        "| windows | R@10 |",
        "|---|---:|",
        *(f"| {name} | {value:.1f} |" for name, value in found["recall"].items()),
        "",
        f"On {found['machine']}; {', '.join(f'{k} {v}' for k, v in found['versions'].items())}; "
        "`python -m benchmarks.msrvtt_800.frame_scales --data ../shared/data`.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
