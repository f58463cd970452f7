"""Whether a captioner gains by reading captions before it sees videos: MSR-VTT-800, with and without pre-training.

`caption-pretrain-tiny` reads the captions of all videos of MSR-VTT's official training and validation files that the
800 do not have, and those of the 800's training videos; `caption-msrvtt-tiny`, L_gen alone, begins with it or from
random weights, with the same seed and steps.

    python -m benchmarks.msrvtt_800.caption_pretraining --data ../shared/data
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from benchmarks.machine import processor, versions
from benchmarks.msrvtt_800.language import captions_alone, language_model
from benchmarks.msrvtt_ridge import SHARES, msrvtt
from pipelines.arguments import parse
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.tables.runs import Sweep, check_settings
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.sources.annotated_videos import MsrvttVideos
from vtr_core.run.presets import preset
from vtr_core.systems.captioning.generated_captions import caption_figures, caption_values, describe_data
from vtr_core.train.checkpoint import load_model

NAME = "caption-pretraining"
RESULTS = Path(__file__).parents[1] / "results"
METRICS = {"bleu1": "B@1", "bleu4": "B@4", "rouge_l": "ROUGE-L", "cider": "CIDEr"}
SCRATCH, BEGUN = "from random weights", "pre-trained"


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, and how long to train."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations and msrvtt/features."""
    work: str = "runs/caption-pretraining"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    seeds: int = 1
    """Trainings of every row."""
    steps: int = 1000
    """Steps of pre-training."""
    epochs: int = 120
    """Epochs of the trainings on videos, each with one of 20 captions of every video."""


def main(argv: Sequence[str]) -> None:
    """Train what is missing, and write the figures to benchmarks/results."""
    flags = parse(Flags, argv, "python -m benchmarks.msrvtt_800.caption_pretraining")
    torch.set_num_threads(1)
    work = Path(flags.work)
    data = msrvtt_videos(Path(flags.data), work / "videos")
    read = captions_alone(Path(flags.data), work / "captions", data["train"])
    runs = [_seed(flags, work / f"seed-{seed}", data, read, seed) for seed in range(flags.seeds)]
    command = " ".join(["python -m benchmarks.msrvtt_800.caption_pretraining", *argv])
    found = {"steps": flags.steps, "epochs": flags.epochs, "runs": runs, "command": command}
    found |= {"machine": processor(), "versions": versions("torch"), "load": os.getloadavg()[2]}
    found["captions"] = Manifest.load(read).rows
    (RESULTS / "caption_pretraining.json").write_text(json.dumps(found, indent=1) + "\n")
    (RESULTS / "caption_pretraining.md").write_text(_page(found))
    print(_page(found))


def msrvtt_videos(data: Path, out: Path) -> Mapping[str, str]:
    """Whole videos, split by video as in the other benchmarks, with the words of the training captions."""
    if not splits(str(out)):
        words: dict[str, Any] = {"tokenizer": "alphanumeric", "min_count": 5, "max_words": 32}
        flags = IngestFlags(out=str(out), splits=SHARES, videos_per_shard=64, workers=0, **words)
        source = msrvtt(data)
        ingest(MsrvttVideos(annotations=source.annotations, feature_folder=source.feature_folder), flags)
    return splits(str(out))


def _seed(flags: Flags, folder: Path, data: Mapping[str, str], read: str, seed: int) -> dict[str, dict[str, float]]:
    """The figures of both rows on the test videos."""
    reading = {"seed": seed, "training.max_steps": flags.steps}
    language = language_model(read, str(folder / "language"), reading, NAME)
    seeing = {"seed": seed, "scaling.workers": 0, "training.epochs": flags.epochs, "training.validate_every": 30}
    config, rows = override(preset("caption-msrvtt-tiny-baseline"), seeing), {}
    for row, init in ((SCRATCH, None), (BEGUN, language)):
        out = str(folder / row.replace(" ", "-"))
        check_settings(out, config)
        checkpoint = Sweep(out, data["train"], data["val"], [], 1, NAME, init=init).train(config, out)
        said = describe_data(load_model(checkpoint), data["test"], {}, num_examples=0).videos
        rows[row] = caption_values(caption_figures(said, "words", with_meteor=False), "test")
    return rows


def _page(found: Mapping[str, Any]) -> str:
    runs = found["runs"]
    lines = [
        "# Captions of msrvtt-800 after reading captions alone",
        "",
        f"`caption-pretrain-tiny` for {found['steps']:,} steps of 64 of {found['captions']:,} captions, then "
        f"`caption-msrvtt-tiny-baseline` for {found['epochs']} epochs; seeds: {len(runs)}.",
        "",
        f"| row | {' | '.join(METRICS.values())} |",
        f"|---|{'---:|' * len(METRICS)}",
    ]
    for row in (SCRATCH, BEGUN):
        cells = [f"{fmean(run[row][f'test/{name}'] for run in runs):.1f}" for name in METRICS]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    gains = ", ".join(f"{run[BEGUN]['test/cider'] - run[SCRATCH]['test/cider']:+.1f}" for run in runs)
    origin = f"On {found['machine']}, load {found['load']:.1f}; torch {found['versions']['torch']}"
    told = f"CIDEr, pre-trained less from random weights, by seed: {gains}."
    return "\n".join([*lines, "", told, "", f"{origin}; `{found['command']}`.", ""])


if __name__ == "__main__":
    main(sys.argv[1:])
