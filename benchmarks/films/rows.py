"""The trained rows of the tables: each a preset with changes, its search of learning rates, and its seeds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.comparison.search import Searched, search
from benchmarks.films.data import Sets
from pipelines.evaluate.evaluation_flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from pipelines.train.command import TrainFlags, train
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.embedding.rankings import metric_values
from vtr_core.run.presets import preset
from vtr_core.storage import locate

RATES = (0.3, 1.0, 3.0)
"""Of a preset's own learning rate: what every row's search tries, judged by validation with seed 0."""
CHOSEN_BY = "val/own/t2v/recalls"
"""R@1 + R@5 + R@10 of captions on validation videos, as for the baselines."""
RELEVANT: tuple[Literal["own", "same-caption"], ...] = ("own", "same-caption")


@dataclass(frozen=True)
class Row:
    """A system as it is trained: a preset, what is changed of it, and the records that it reads."""

    name: str
    preset: str
    changes: Mapping[str, object] = field(default_factory=dict)
    records: str = "clips"
    relevant: tuple[Literal["own", "same-caption"], ...] = RELEVANT
    """What is right for a query; a dual encoder is judged by the query's own video alone."""
    bank_temperature: float | None = None
    """Also judged with query-bank normalisation by the training captions, at this temperature; for models of clips."""

    @property
    def epochs(self) -> int:
        """Of its trainings."""
        return override(preset(self.preset), self.changes).training.epochs


_LONG: Mapping[str, object] = {"training.epochs": 120, "training.validate_every": 10, "training.precision": "float32"}


_WIDE_CAPSULES: Mapping[str, object] = {
    "model.num_capsules": 128,
    "model.primary_dim": 32,
    "model.routing.pose_dim": 64,
    "model.routing.mlp_dim": 256,
}
_AS_MANY_CAPSULES: Mapping[str, object] = {
    "model.num_capsules": 32,
    "model.routing.pose_dim": 32,
}
"""As the base has, where the paper's table of routings halves them."""


def _capsules(changes: Mapping[str, object]) -> tuple[Row, ...]:
    """The capsule network and what the paper compares it with, with pretrained text.

    On films: capsules 1.9 million weights, wide 24.1; fully connected 14.8, narrow 1.9.
    """
    capsules = {"scaling.workers": 0, "training.precision": "float32", **changes}
    wide = {"model.embedding_dim": 1024, "model.words.hidden_dim": 1024}
    text = {**capsules, "model.words.encoder": "bundled"}
    return (
        Row("capsules, pretrained text", "capsule-msrvtt-text", capsules),
        Row("capsules, wide, pretrained text", "capsule-msrvtt-text", {**capsules, **wide, **_WIDE_CAPSULES}),
        Row("no routing, pretrained text", "capsule-msrvtt-routing-none", {**text, **_AS_MANY_CAPSULES}),
        Row("fully connected, pretrained text", "capsule-msrvtt-fully-connected", text),
        Row(
            "fully connected, narrow, pretrained text",
            "capsule-msrvtt-fully-connected",
            {**text, "model.hidden_dim": 512},
        ),
    )


def _papers(capsules: Mapping[str, object]) -> tuple[Row, ...]:
    """The papers' systems, each from scratch and with pretrained text; capsules: changes of the capsule networks."""
    videos = {**_LONG, "scaling.workers": 0}
    # Its training loss is below .01 after 12 epochs, which on two cores take as long as 120 of the others'.
    muse = {**videos, "training.epochs": 12, "training.validate_every": 3}
    words = {"scaling.workers": 0, "training.precision": "float32", **capsules}
    return (
        Row("capsules, words", "capsule-msrvtt", words),
        *_capsules(capsules),
        Row("dual encoder, words", "hybrid-msrvtt-tiny", videos, "videos", ("own",)),
        Row("dual encoder, pretrained text", "hybrid-msrvtt-tiny-text", videos, "videos", ("own",)),
        Row("MUSE, words", "muse-msrvtt-tiny", muse, "videos"),
        Row("MUSE, pretrained text", "muse-msrvtt-tiny-text", muse, "videos"),
    )


_FEW_CLIPS: Mapping[str, object] = {
    "batch.clips_per_video": 1,
    "batch.videos": 64,
    "training.epochs": 120,
    "training.validate_every": 10,
}
FILMS = (
    Row("adapter", "adapter"),
    Row("adapter, attention", "adapter-attention", records="videos"),
    *_papers(_FEW_CLIPS),
)
"""On films. A system of another paper is a further row: its preset, and changes that its data needs."""
MSRVTT_800 = (
    Row(
        "adapter",
        "adapter",
        {
            "model.hidden_dim": 4096,
            "model.dropout": 0.6,
            "loss.temperature": 0.1,
            "batch.videos": 256,
            "batch.clips_per_video": 2,
            "training.epochs": 200,
            "training.validate_every": 50,
        },
        bank_temperature=0.2,  # of .05, .1, .2 and .5 the one that finds most on validation videos
    ),
    *_papers({}),
)

VIDREL = _capsules(_FEW_CLIPS)
"""Of features of two streams, which only the capsule networks read as they are."""
WORLDS: Mapping[str, tuple[Row, ...]] = {"films": FILMS, "msrvtt-800": MSRVTT_800, "vidrel": VIDREL}


def trained(row: Row, sets: Sets, work: Path, seeds: int) -> Searched:
    """The row's search, and the figures of its best rate with every seed; finished runs in `work` are taken."""
    trials = {f"{rate:g} x": rate for rate in RATES}

    def figures(trial: str, count: int) -> Mapping[str, tuple[float, ...]]:
        runs = [_run(row, trials[trial], seed, sets, work / row.name / trial / str(seed)) for seed in range(count)]
        runs = [{**run, CHOSEN_BY: sum(run[f"val/own/t2v/r{k}"] for k in (1, 5, 10))} for run in runs]
        return {name: tuple(run[name] for run in runs) for name in runs[0]}

    return search(trials, CHOSEN_BY, seeds, figures)


def _run(row: Row, rate: float, seed: int, sets: Sets, folder: Path) -> dict[str, float]:
    """The figures of one training by `<set>/<protocol>/<metric>`, in percent, of val and of all judged sets."""
    file, run = locate(str(folder / "figures.json")), str(folder / "run")
    places = sets.of[row.records]
    values: dict[str, float] = storage.read_json(file) if storage.exists(file) else {}
    if not values:
        config = override(preset(row.preset), row.changes)
        config = override(config, {"seed": seed, "optimizer.learning_rate": rate * config.optimizer.learning_rate})
        table = Path(places["train"]).parent / "concepts"
        flags = TrainFlags(
            data=places["train"],
            validation=places["val"],
            concepts=str(table) if table.exists() else None,
            out=run,
            experiment="films",
        )
        train(config, flags)
    for name in ("val", *sets.judged):
        if f"{name}/own/t2v/r1" in values:
            continue
        for relevant in row.relevant:
            (result,) = evaluate(EvaluateFlags(run, (places[name],), relevant=relevant, experiment="films"))
            values |= metric_values(result.directions, f"{name}/{relevant}")
        if row.bank_temperature is not None:
            values |= _with_bank(run, places[name], places["train"], row.bank_temperature, name)
    storage.write_json(file, values)
    return values


def _with_bank(checkpoint: str, data: str, bank: str, temperature: float, name: str) -> dict[str, float]:
    flags = EvaluateFlags(
        checkpoint, (data,), normalize=("query_bank",), query_bank=bank, query_bank_temperature=temperature
    )
    (result,) = evaluate(flags)
    (normalized,) = (variant for variant in result.variants if variant.name == "query_bank")
    return metric_values(normalized.directions, f"{name}/query_bank")


def spread(values: tuple[float, ...]) -> float | None:
    """The standard deviation of seeds, or None of a single one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None
