"""What each loss of the granularity-bias paper adds where it can be tried: Table 2's rows on MSR-VTT-800.

Every row is trained with the same seeds and compared with the others seed by seed; the baseline is the most typical
caption of the training video that looks most like the one asked for. The paper's transformer was pre-trained; with
--pretraining all rows begin with one that has read captions and seen no video:

    python -m benchmarks.caption_ablation --data ../shared/data --seeds 5
    python -m benchmarks.caption_ablation --data ../shared/data --pretraining 3000 --seeds 10
"""

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.comparison.rows import World, run_rows, write
from benchmarks.msrvtt_dual.data import videos
from benchmarks.msrvtt_ridge import allowed_text, msrvtt
from pipelines.arguments import parse
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.systems.captioning.gmc_tables import PAPER
from pipelines.tables.layout import Results
from pipelines.tables.row_settings import check_settings
from pipelines.tables.runs import Sweep
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.pairs import Captions
from vtr_core.run.presets import preset
from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.captioning.generated_captions import caption_figures, caption_values, nearest_captions

MSRVTT = World(
    "msrvtt-800",
    "Captions of msrvtt-800",
    "caption-msrvtt-tiny",
    {
        "baseline": {"loss.fusion": False, "loss.granularity_margin": None},
        "margin": {"loss.fusion": False},
        "fusion": {"loss.granularity_margin": None},
        "full": {},
    },
    (("full", "fusion"), ("fusion", "baseline"), ("full", "baseline"), ("margin", "baseline"), ("full", "margin")),
    compared="cider",
    metrics={"bleu1": "B@1", "bleu4": "B@4", "rouge_l": "ROUGE-L", "cider": "CIDEr"},
    kind="captioning",
    baseline=PAPER.tables[0].baseline,
)
"""The paper has full > fusion > baseline > margin on MSVD: 138.68, 137.10, 135.10, 97.56."""

FINE_TUNED: Mapping[str, object] = {
    "training.epochs": 60,
    "training.validate_every": 60,
    "model.decoding.beams": 10,
}
"""Of all rows that begin with a pre-trained model. The last checkpoint is taken: 72 validation videos choose badly."""
_READING: Mapping[str, object] = {"batch.videos": 128, "optimizer.warmup_steps": 100}
"""Of the pre-training."""


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, and how often to train."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations and msrvtt/features."""
    work: str = "runs/caption-ablation"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    seeds: int = 3
    """Trainings of every row."""
    pretraining: int = 0
    """Steps of pre-training with captions alone, of 128 captions (0: from random weights)."""


def main(argv: Sequence[str]) -> None:
    """Run what is missing, print rows and differences, and write them to benchmarks/results."""
    flags = parse(Flags, argv, "python -m benchmarks.caption_ablation")
    sets = videos(Path(flags.data), Path(flags.work) / "data")
    data = {"train": sets.train, "val": sets.val, "test": sets.test}

    def results(world: World, name: str, changes: Mapping[str, object], **begin: str) -> Results:
        out = f"{flags.work}/{name}"
        return run_rows(world, data, out, flags.seeds, {"scaling.workers": 0, **changes}, "caption-ablation", **begin)

    name, world = "caption_ablation", MSRVTT
    if not flags.pretraining:
        figures = results(world, name, {})
    else:
        name, world = f"{name}_pretrained", fine_tuned(flags.pretraining)
        figures = results(world, name, FINE_TUNED, init=pretrained(flags, sets.train))
    write(world, replace(figures, chance=nearest(sets.train, sets.test)), name, command(flags))


def command(flags: Flags) -> str:
    """The command of a page."""
    words = ["python -m benchmarks.caption_ablation --data ../shared/data"]
    words += [f"--pretraining {flags.pretraining}"] if flags.pretraining else []
    return " ".join([*words, f"--seeds {flags.seeds}"])


def pretrained(flags: Flags, vocabulary: str) -> str:
    """The run folder of a model that has read captions, in the words of `vocabulary`."""
    read = captions_alone(Path(flags.data), Path(flags.work) / "captions", vocabulary)
    changes = {"training.max_steps": flags.pretraining, **_READING}
    return language_model(read, f"{flags.work}/language-{flags.pretraining}", changes, "caption-ablation")


def fine_tuned(steps: int) -> World:
    """The rows where all begin with a model that has read captions for `steps` steps."""
    note = (
        f"All rows begin with `caption-pretrain-tiny` after {steps:,} steps of {_READING['batch.videos']} captions, "
        f"none of a validation or test video, train for {FINE_TUNED['training.epochs']} epochs, and decode "
        f"with {FINE_TUNED['model.decoding.beams']} beams. The last checkpoint is judged."
    )
    return replace(MSRVTT, title=f"{MSRVTT.title}, after pre-training", note=note)


def nearest(training: str, test: str) -> dict[str, float]:
    """By metric name, the figures of the nearest training video's caption."""
    model = preset(MSRVTT.preset).model
    assert isinstance(model, CaptionerConfig)
    captions = nearest_captions(Manifest.load(training), Manifest.load(test), model.feature)
    return caption_values(caption_figures(captions, "words"), MSRVTT.name)


_LONG = {"training.epochs": 100, "training.validate_every": 100}
"""More epochs than `training.max_steps` lets pass, so that the steps decide."""


def captions_alone(data: Path, work: Path, vocabulary: str) -> str:
    """The captions of all videos of MSR-VTT's training and validation files that the 800 do not have, and those of the
    800's training videos, as a data set in the words of another.
    """
    out = work / "set"
    if not out.exists():
        text = allowed_text(msrvtt(data), 0)
        work.mkdir(parents=True, exist_ok=True)
        with (work / "captions.csv").open("w", newline="") as file:
            csv.writer(file).writerows(
                [("caption",), *((caption,) for caption in dict.fromkeys((*text.train, *text.more)))]
            )
        flags = IngestFlags(out=str(out), vocabulary=vocabulary, max_words=32, videos_per_shard=4096, workers=0)
        ingest(Captions(table=str(work / "captions.csv")), flags)
    return str(out)


def language_model(captions: str, out: str, changes: Mapping[str, object], experiment: str) -> str:
    """The run folder `out` of `caption-pretrain-tiny` with `changes`; an interrupted run goes on.

    RunConflict where the folder's run has other settings.
    """
    config = override(preset("caption-pretrain-tiny"), {"scaling.workers": 0, **_LONG, **changes})
    check_settings(out, config)
    Sweep(out, captions, None, [], 1, experiment).train(config, out)
    return out


if __name__ == "__main__":
    main(sys.argv[1:])
