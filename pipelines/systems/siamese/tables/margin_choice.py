"""A Siamese network's margin and threshold by cross-validation by subject."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from pipelines.evaluation_inputs import device
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.subject_groups import GroupSplit
from vtr_core.metrics.verification import equal_error_threshold
from vtr_core.run.config import TrainConfig
from vtr_core.storage import locate
from vtr_core.systems.siamese.decision import siamese
from pipelines.systems.siamese.tables.face_runs import FaceRuns
from vtr_core.systems.siamese.verification import encode_faces, score_pairs
from vtr_core.train.checkpoint.load import load_model
from vtr_core.uris import below


@dataclass(frozen=True)
class MarginChoice:
    """The margin of highest mean validation metric, ties: the smallest, and its threshold."""

    metric: str
    means: Mapping[str, float]
    """Means over folds, by margin."""
    margin: float
    threshold: float
    """The equal-error threshold over the pairs of all folds, each fold scored by a model trained without it."""


@dataclass(frozen=True)
class FoldRun:
    """A training of the cross-validation: its margin, its configuration, and where its data and its run lie."""

    margin: float
    config: TrainConfig
    data: str
    folder: str


def fold_runs(
    runs: FaceRuns, config: TrainConfig, margins: Sequence[float], folds: Sequence[GroupSplit], name: str, folder: str
) -> list[FoldRun]:
    """The training of every margin, in ascending order, and fold; the data sets of the folds are made if missing."""
    data = [runs.data(f"{name}-fold-{i}-of-{len(folds)}", fold) for i, fold in enumerate(folds)]
    return [
        FoldRun(
            margin,
            override(config, {"loss.margin": margin}),
            uri,
            below(folder, f"margin-{margin:g}-fold-{i}-of-{len(folds)}"),
        )
        for margin in sorted(margins)
        for i, uri in enumerate(data)
    ]


def choose_margin(
    runs: FaceRuns, config: TrainConfig, margins: Sequence[float], folds: Sequence[GroupSplit], name: str, folder: str
) -> MarginChoice:
    """Trains with every margin and fold, writes the choice to `folder`/margins.json, and returns it."""
    wanted = fold_runs(runs, config, margins, folds, name, folder)
    data = [one.data for one in wanted[: len(folds)]]
    checkpoints: dict[float, list[str]] = {}
    for one in wanted:
        checkpoints.setdefault(one.margin, []).append(runs.checkpoint(one.config, one.data, one.folder))
    means = {margin: sum(map(_best_value, found)) / len(folds) for margin, found in checkpoints.items()}
    best = max(means, key=lambda margin: (means[margin], -margin))
    choice = MarginChoice(
        metric=config.training.metric,
        means={f"{margin:g}": mean for margin, mean in means.items()},
        margin=best,
        threshold=_threshold(checkpoints[best], data),
    )
    storage.write_json(locate(folder) / "margins.json", asdict(choice))
    figures = ", ".join(f"{margin}: {mean:.4f}" for margin, mean in choice.means.items())
    print(f"margin {best:g} of {figures}; threshold {choice.threshold:.4f}", flush=True)
    return choice


def _best_value(checkpoint: str) -> float:
    value = load_model(checkpoint).progress.best_value
    assert value is not None, "every fold has validation subjects"
    return value


def _threshold(checkpoints: Sequence[str], data: Sequence[str]) -> float:
    """The equal-error threshold over the validation pairs of all `data`."""
    scored = []
    for checkpoint, uri in zip(checkpoints, data, strict=True):
        loaded, manifest = load_model(checkpoint, device()), Manifest.load(below(uri, "val"))
        scored.append(score_pairs(encode_faces(siamese(loaded), loaded.config, manifest), manifest, loaded.config))
    distance = np.concatenate([fold.distance for fold in scored])
    return equal_error_threshold(distance, np.concatenate([fold.different for fold in scored]))
