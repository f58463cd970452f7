"""The capsule network against ridge regression on held-out MSR-VTT videos; single captions search for their video.

Both learn from the same training videos and the same text. Everything of the network goes through the product: ingest,
`vtr train capsule-msrvtt` with three seeds, `vtr evaluate`. Run from the repository:

    python -m benchmarks.msrvtt_ridge --data ../shared/data
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.caption_vectors import caption_vectors, write_glove
from benchmarks.comparison.ridge import Fit, all_fits, read_videos, selected
from benchmarks.report.pages import RESULTS, Benchmark, origin
from pipelines.evaluate.evaluation_flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.train.command import TrainFlags, train
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import assign_splits
from vtr_core.data.sources.annotated_videos import Msrvtt
from vtr_core.data.sources.published_captions import read_msrvtt
from vtr_core.data.sources.source import Drops
from vtr_core.run.presets import preset

PRESET = "capsule-msrvtt"
SHARES = {"train": 0.65, "val": 0.10, "test": 0.25}


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, and how often to train."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations and msrvtt/features."""
    work: str = "runs/msrvtt-ridge"
    """Folder for data sets and runs; it must not hold an earlier comparison's runs."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """One training for each."""
    split_seed: int = 0
    """Of the split by video."""
    out: str = str(RESULTS)
    """Folder for msrvtt_ridge.json and msrvtt_ridge.md."""


@dataclass(frozen=True)
class Text:
    """The captions that may be learned from: of training videos, and of videos whose features nobody has."""

    train: tuple[str, ...]
    more: tuple[str, ...]


@dataclass(frozen=True)
class Trained:
    """One trained network: its seed, the seconds that its training took, its test figures."""

    seed: int
    seconds: float
    test: dict[str, float]


def measure(flags: Flags) -> dict[str, Any]:
    """The trained networks and the baselines on the same videos."""
    source, work = msrvtt(Path(flags.data)), Path(flags.work)
    text = allowed_text(source, flags.split_seed)
    sets = prepare(source, text, work, flags.split_seed)
    trained = [train_one(sets, work / f"seed-{seed}", seed) for seed in flags.seeds]
    return _figures(sets, trained, ridge(sets, text))


def msrvtt(data: Path) -> Msrvtt:
    """The videos as mean and deviation of their frame features, not brought to length 1."""
    folder = data / "msrvtt"
    return Msrvtt(
        annotations=str(folder / "annotations"),
        feature_folder=str(folder / "features"),
        pool="mean_std",
        normalise=False,
    )


def allowed_text(source: Msrvtt, split_seed: int) -> Text:
    """No caption of a validation or test video is among them."""
    present = {video.video_id: video.content.captions for video in source.videos(Drops())}
    split = assign_splits(present, SHARES, split_seed)
    annotated = read_msrvtt(source.annotations, "official", Drops())
    return Text(
        train=tuple(c for video, captions in present.items() if split[video] == "train" for c in captions),
        more=tuple(c for video in annotated if video.video_id not in present for c in video.captions),
    )


def prepare(source: Msrvtt, text: Text, work: Path, split_seed: int) -> dict[str, Manifest]:
    """Word vectors of the allowed text, and the data sets train, val and test made with them."""
    work.mkdir(parents=True, exist_ok=True)
    vectors = work / "caption_vectors.txt"
    write_glove(caption_vectors([*text.train, *text.more]), vectors)
    flags = IngestFlags(
        out=str(work / "data"), splits=SHARES, split_seed=split_seed, word_vectors=str(vectors), videos_per_shard=64
    )
    ingest(source, flags)
    return {split: Manifest.load(str(work / "data" / split)) for split in SHARES}


def train_one(
    sets: Mapping[str, Manifest], run: Path, seed: int, changes: Mapping[str, object] | None = None
) -> Trained:
    """Train the preset, choose the checkpoint by validation, and evaluate it on the test videos."""
    config = override(preset(PRESET), {"seed": seed, **(changes or {})})
    began = perf_counter()
    flags = TrainFlags(data=sets["train"].uri, validation=sets["val"].uri, out=str(run), experiment="msrvtt-ridge")
    finished = train(config, flags)
    seconds = perf_counter() - began
    (result,) = evaluate(EvaluateFlags(finished.checkpoint, (sets["test"].uri,), experiment="msrvtt-ridge"))
    metrics = next(direction for direction in result.directions if direction.name == "t2v").metrics
    recalls = {f"r{k}": 100 * value for k, value in metrics.recall.items()}
    return Trained(seed, seconds, {**recalls, "medr": metrics.median_rank})


def ridge(sets: Mapping[str, Manifest], text: Text) -> dict[str, list[Fit]]:
    """All settings of the baseline, with the text of the training videos alone and with all allowed text."""
    train, validation, test = (read_videos(sets[split]) for split in ("train", "val", "test"))
    fits = {"training captions": all_fits(train, validation, test, ())}
    if text.more:
        fits["all allowed captions"] = all_fits(train, validation, test, text.more)
    return fits


def _figures(
    sets: Mapping[str, Manifest], trained: Sequence[Trained], baselines: Mapping[str, list[Fit]]
) -> dict[str, Any]:
    ours = {name: float(np.mean([run.test[name] for run in trained])) for name in trained[0].test}
    best = max((selected(fits) for fits in baselines.values()), key=lambda fit: fit.test["r10"])
    ceiling = max(fit.test["r10"] for fits in baselines.values() for fit in fits)
    return {
        "preset": PRESET,
        "videos": {split: manifest.videos for split, manifest in sets.items()},
        "test_captions": sets["test"].rows,
        "chance_r10": 1000 / sets["test"].videos,
        "trained": [asdict(run) for run in trained],
        "mean": ours,
        "ridge": {name: asdict(selected(fits)) for name, fits in baselines.items()},
        "ratio_r10": ours["r10"] / best.test["r10"],
        "ridge_best_on_test_r10": ceiling,
        "ratio_r10_to_ridge_best_on_test": ours["r10"] / ceiling,
    }


def markdown(figures: Mapping[str, Any]) -> str:
    """The comparison as a page."""
    rows = [_row(f"{figures['preset']}, seed {run['seed']}", run["test"]) for run in figures["trained"]]
    rows.append(_row(f"**{figures['preset']}, mean**", figures["mean"]))
    rows += [_row(f"ridge, text: {name} ({_setting(fit)})", fit["test"]) for name, fit in figures["ridge"].items()]
    seconds = np.mean([run["seconds"] for run in figures["trained"]])
    videos = " / ".join(f"{count} {split}" for split, count in figures["videos"].items())
    return "\n".join(
        [
            "# MSR-VTT: the capsule network and ridge regression on held-out videos",
            "",
            f"Videos: {videos}. {figures['test_captions']} single captions search the test videos;",
            f"chance R@10 is {figures['chance_r10']:.1f}. All settings were chosen by validation.",
            "",
            "| | R@1 | R@5 | R@10 | MedR |",
            "|---|---:|---:|---:|---:|",
            *rows,
            "",
            f"R@10, network to the better ridge: **{figures['ratio_r10']:.3f}**"
            f" (to the ridge that is best on the *test* videos, {figures['ridge_best_on_test_r10']:.1f}:"
            f" {figures['ratio_r10_to_ridge_best_on_test']:.3f}).",
            "",
            f"Training took {seconds:.0f} s a seed with one worker, its start included. {origin(figures)}",
            "",
        ]
    )


def _row(title: str, test: Mapping[str, float]) -> str:
    return f"| {title} | {test['r1']:.1f} | {test['r5']:.1f} | {test['r10']:.1f} | {test['medr']:.1f} |"


def _setting(fit: Mapping[str, object]) -> str:
    return f"LSA {fit['lsa_dim']}, α {fit['alpha']:g}, stop words {fit['stop_words'] or 'kept'}"


BENCHMARK = Benchmark(
    "benchmarks.msrvtt_ridge",
    Flags,
    measure,
    markdown,
    (
        "torch",
        "ray",
        "numpy",
        "scikit-learn",
    ),
)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
