"""What each loss of the granularity-bias paper adds where it can be tried: Table 2's rows on MSR-VTT-800.

Every row is trained with the same seeds and compared with the others seed by seed; the baseline is the most typical
caption of the training video that looks most like the one asked for. The paper's transformer was pre-trained; with
--pretraining all rows begin with one that has read captions and seen no video, and tell captions by consensus:

    python -m benchmarks.caption_ablation --data ../shared/data
    python -m benchmarks.caption_ablation --data ../shared/data --pretraining 3000 --seeds 5
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.comparison.rows import World, run_rows, write
from benchmarks.msrvtt_800.language import captions_alone, language_model
from benchmarks.msrvtt_dual.data import videos
from pipelines.arguments import parse
from vtr_core.data.manifest import Manifest
from vtr_core.run.presets import preset
from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.captioning.evaluation import caption_figures, caption_values
from vtr_core.systems.captioning.nearest_caption import nearest_captions
from vtr_core.systems.captioning.presets import CAPTION_VARIANTS
from vtr_core.systems.captioning.tables.paper import BASELINE

MSRVTT = World(
    "msrvtt-800",
    "Captions of msrvtt-800",
    "caption-msrvtt-tiny",
    {name: CAPTION_VARIANTS[name] for name in ("baseline", "margin", "fusion")} | {"full": {}},
    (("full", "fusion"), ("fusion", "baseline"), ("full", "baseline"), ("margin", "baseline")),
    compared="cider",
    metrics={"bleu1": "B@1", "bleu4": "B@4", "rouge_l": "ROUGE-L", "cider": "CIDEr"},
    kind="captioning",
    baseline=BASELINE,
)
"""The paper has full > fusion > baseline > margin on MSVD: 138.68, 137.10, 135.10, 97.56."""

FINE_TUNED: Mapping[str, object] = {
    "training.epochs": 60,
    "training.validate_every": 60,
    "model.decoding.beams": 10,
    "model.decoding.consensus_samples": 30,
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
    changes: dict[str, object] = {"scaling.workers": 0}
    name, world, init = "caption_ablation", MSRVTT, None
    if flags.pretraining:
        changes |= FINE_TUNED
        name, init = f"{name}_pretrained", pretrained(flags, sets.train)
        world = replace(MSRVTT, title=f"{MSRVTT.title}, after pre-training", note=common(flags.pretraining))
    results = run_rows(world, data, f"{flags.work}/{name}", flags.seeds, changes, "caption-ablation", init)
    results = replace(results, chance=nearest(sets.train, sets.test))
    command = ["python -m benchmarks.caption_ablation --data ../shared/data"]
    command += [f"--pretraining {flags.pretraining}"] if flags.pretraining else []
    write(world, results, name, " ".join([*command, f"--seeds {flags.seeds}"]))


def pretrained(flags: Flags, vocabulary: str) -> str:
    """The run folder of a model that has read captions, in the words of `vocabulary`."""
    read = captions_alone(Path(flags.data), Path(flags.work) / "captions", vocabulary)
    changes = {"training.max_steps": flags.pretraining, **_READING}
    return language_model(read, f"{flags.work}/language-{flags.pretraining}", changes, "caption-ablation")


def common(steps: int) -> str:
    """What all rows that begin with a pre-trained model have in common, for the page."""
    return (
        f"All rows begin with `caption-pretrain-tiny` after {steps:,} steps of {_READING['batch.videos']} captions, "
        f"none of a validation or test video, train for {FINE_TUNED['training.epochs']} epochs, and tell captions by "
        f"consensus, of {FINE_TUNED['model.decoding.beams']} beams by "
        f"{FINE_TUNED['model.decoding.consensus_samples']} random captions. The last checkpoint is judged."
    )


def nearest(training: str, test: str) -> dict[str, float]:
    """By metric name, the figures of the nearest training video's caption."""
    model = preset(MSRVTT.preset).model
    assert isinstance(model, CaptionerConfig)
    said = nearest_captions(Manifest.load(training), Manifest.load(test), model.feature)
    return caption_values(caption_figures(said, "words"), MSRVTT.name)


if __name__ == "__main__":
    main(sys.argv[1:])
