"""What each loss of the granularity-bias paper adds where it can be tried: Table 2's rows on MSR-VTT-800.

Every row is trained with the same seeds and compared with the others seed by seed; the baseline is the most typical
caption of the training video that looks most like the one asked for:

    python -m benchmarks.caption_ablation --data ../shared/data
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.comparison.rows import World, run_rows, write
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


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, and how often to train."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations and msrvtt/features."""
    work: str = "runs/caption-ablation"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    seeds: int = 3
    """Trainings of every row."""


def main(argv: Sequence[str]) -> None:
    """Run what is missing, print rows and differences, and write them to benchmarks/results."""
    flags = parse(Flags, argv, "python -m benchmarks.caption_ablation")
    sets = videos(Path(flags.data), Path(flags.work) / "data")
    data = {"train": sets.train, "val": sets.val, "test": sets.test}
    changes = {"scaling.workers": 1}
    results = run_rows(MSRVTT, data, f"{flags.work}/runs", flags.seeds, changes, "caption-ablation")
    results = replace(results, chance=nearest(sets.train, sets.test))
    write(MSRVTT, results, "caption_ablation", "python -m benchmarks.caption_ablation --data ../shared/data")


def nearest(training: str, test: str) -> dict[str, float]:
    """By metric name, the figures of the nearest training video's caption."""
    model = preset(MSRVTT.preset).model
    assert isinstance(model, CaptionerConfig)
    said = nearest_captions(Manifest.load(training), Manifest.load(test), model.feature)
    return caption_values(caption_figures(said, "words"), MSRVTT.name)


if __name__ == "__main__":
    main(sys.argv[1:])
