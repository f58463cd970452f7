"""MUSE with two scales, with one, and without its learner, on tokens of films; every row has the same search.

The learner is Mamba, or attention over the same tokens (Table 4's rows).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.tables.runs import Sweep, TestSet, read_results
from vtr_core.config.override import override
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset

PRESET = "muse-tokens-tiny"
_ATTENTION = {"model.learner.kind": "flash", "model.learner.layers": 2, "model.learner.num_heads": 4}
ROWS: Mapping[str, Mapping[str, object]] = {
    "mean": {"model.scales": (1,), "model.learner.kind": "none"},
    "scale 1, Mamba": {"model.scales": (1,)},
    "scales 1, 3, Mamba": {"model.scales": (1, 3)},
    "scale 1, attention": {"model.scales": (1,), **_ATTENTION},
    "scales 1, 3, attention": {"model.scales": (1, 3), **_ATTENTION},
}
"""By name what each changes."""
CLAIMS = (
    ("scales 1, 3, Mamba", "mean"),
    ("scales 1, 3, Mamba", "scale 1, Mamba"),
    ("scales 1, 3, attention", "mean"),
    ("scales 1, 3, attention", "scale 1, attention"),
    ("scales 1, 3, attention", "scales 1, 3, Mamba"),
)
"""(better, worse)."""
RATES = (5e-3, 1e-2)
"""The learning rates of every row's search."""
_SHARED: Mapping[str, object] = {
    "model.grid": 7,
    "model.token_dim": 64,
    "model.text.kind": "words",
    "model.text.levels.hidden_dim": 64,
    "model.text.levels.num_filters": 64,
    "model.text.levels.kernel_sizes": (2, 3, 4),
    "model.inputs.word_dim": 64,
    "batch.max_frames": 2,
    "evaluation.batch_rows": 64,
    "scaling.workers": 0,
    "training.metric": "val/t2v/r10",
    "training.log_every": 50,
}
METRICS = ("t2v/r1", "t2v/r5", "t2v/r10", "t2v/medr")


@dataclass(frozen=True)
class Row:
    """A row after its search."""

    trials: Mapping[str, float]
    """R@10 on validation data by learning rate, of seed 0."""
    best: float
    """The learning rate that found most."""
    figures: Mapping[str, tuple[float, ...]]
    """Of METRICS, on test data by seed."""
    chance: Mapping[str, float]


def row_config(row: str, rate: float, epochs: int) -> TrainConfig:
    """The preset as a row of the page, validated every fifth of its epochs."""
    length = {
        "optimizer.learning_rate": rate,
        "training.epochs": epochs,
        "training.validate_every": max(1, epochs // 5),
    }
    return override(preset(PRESET), {**_SHARED, **length, **ROWS[row]})


def search(row: str, data: str, out: str, epochs: int, seeds: int) -> Row:
    """Each learning rate with seed 0, and the one that finds most on validation data with every seed."""
    sets = [TestSet(name, f"{data}/{name}", "retrieval") for name in ("val", "test")]

    def run(rate: float, count: int) -> tuple[Mapping[str, tuple[float, ...]], Mapping[str, float]]:
        variant = f"{row.replace(', ', '-').replace(' ', '-')}/{rate:g}"
        sweep = Sweep(out, f"{data}/train", f"{data}/val", sets, count, "small-shapes")
        sweep.run(variant, row_config(row, rate, epochs))
        results = read_results(out, [variant], sets, count)
        return results.figures[variant], results.chance

    trials = {rate: run(rate, 1)[0]["val/t2v/r10"][0] for rate in RATES}
    best = max(trials, key=lambda rate: trials[rate])
    figures, chance = run(best, seeds)
    return Row(
        {f"{rate:g}": found for rate, found in trials.items()},
        best,
        {name: figures[f"test/{name}"] for name in METRICS},
        {name: chance[f"test/{name}"] for name in METRICS},
    )
