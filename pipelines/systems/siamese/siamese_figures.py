"""Figures 1 and 2 of Siamese Capsule Networks: losses, encodings, ROC curves, distances of models."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipelines.evaluate.evaluation_flags import device
from pipelines.systems.registry import SYSTEMS
from pipelines.systems.siamese.face_verification import densities
from vtr_core import storage
from vtr_core.analysis.effective_dimension import principal_components
from vtr_core.data.manifest import Manifest
from vtr_core.metrics.verification import roc_curve, verification_metrics
from vtr_core.storage import locate
from vtr_core.systems.siamese.model import PairDistance
from vtr_core.systems.siamese.verification import encode_faces, pair_loss, score_pairs, siamese
from vtr_core.train.checkpoint.trained_model import read_model

DISTANCES: tuple[PairDistance, ...] = get_args(PairDistance)
_NAMES: Mapping[PairDistance, str] = {
    "euclidean": "squared Euclidean distance d²",
    "manhattan": "1 − exp(−d²) of Manhattan distance d",
    "cosine": "cosine distance",
}
_SIDE = 3.2


@dataclass(frozen=True)
class DrawnModel:
    """What the figures show of a model: its training, and the faces of a data set that it was not trained on."""

    title: str
    losses: Sequence[tuple[int, float]]
    """The loss of a batch's pairs by step, where it was logged."""
    vectors: Float32[np.ndarray, "images dim"]
    subjects: Sequence[str]
    """The subject of every image."""
    different: Bool[np.ndarray, " pairs"]
    distances: Mapping[PairDistance, Float[np.ndarray, " pairs"]]
    """The distances of the data set's pairs, by kind."""
    trained_with: PairDistance


def drawn_model(title: str, run: str, data: str) -> DrawnModel:
    """Reads a run's losses, and encodes the faces of the data set with its best checkpoint."""
    loaded, manifest = read_model(run, SYSTEMS, device()), Manifest.load(data)
    faces = encode_faces(siamese(loaded), loaded.config, manifest)
    scored = {kind: score_pairs(faces, manifest, loaded.config, kind) for kind in DISTANCES}
    return DrawnModel(
        title=title,
        losses=losses(run),
        vectors=faces.vectors,
        subjects=faces.subject,
        different=scored["euclidean"].different,
        distances={kind: pairs.distance for kind, pairs in scored.items()},
        trained_with=pair_loss(loaded.config).distance,
    )


def losses(run: str) -> list[tuple[int, float]]:
    """The steps and values of `train/loss_pairs` that a run logged."""
    lines = storage.read_bytes(locate(run) / "metrics.jsonl").decode().splitlines()
    points = [json.loads(line) for line in lines]
    return [(point["step"], point["train/loss_pairs"]) for point in points if "train/loss_pairs" in point]


def plane(vectors: Float32[np.ndarray, "images dim"]) -> Float[np.ndarray, "images 2"]:
    """Coordinates along the two principal components of the encodings."""
    values = torch.from_numpy(vectors).double()
    directions = principal_components(values).directions[:, :2]
    return ((values - values.mean(dim=0)) @ directions).numpy()


def draw(models: Sequence[DrawnModel]) -> bytes:
    """An SVG: losses and ROC curves of all models, then a row per model of encodings and densities of distances."""
    figure = Figure(figsize=(_SIDE * (1 + len(DISTANCES)), _SIDE * (1 + len(models))), layout="constrained")
    grid = figure.add_gridspec(1 + len(models), 1 + len(DISTANCES))
    _losses(models, figure.add_subplot(grid[0, :2]))
    _curves(models, figure.add_subplot(grid[0, 2:]))
    above: dict[PairDistance, Axes | None] = dict.fromkeys(DISTANCES)
    for row, model in enumerate(models, start=1):
        _encodings(model, figure.add_subplot(grid[row, 0]))
        for column, kind in enumerate(DISTANCES, start=1):
            axes = figure.add_subplot(grid[row, column], sharex=above[kind])  # models beside each other
            _distances(model, kind, axes)
            above[kind] = axes
    file = io.BytesIO()
    figure.savefig(file, format="svg")
    return file.getvalue()


def _losses(models: Sequence[DrawnModel], axes: Axes) -> None:
    for model in models:
        axes.plot(*zip(*model.losses, strict=True) if model.losses else ((), ()), label=model.title, linewidth=1)
    axes.set(xlabel="step", ylabel="loss of pairs in training")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7)


def _curves(models: Sequence[DrawnModel], axes: Axes) -> None:
    """One curve per model, by the distance that it was trained with."""
    axes.plot([0, 100], [0, 100], ":", color="grey", linewidth=1)
    for model in models:
        distance = model.distances[model.trained_with]
        curve, area = roc_curve(distance, model.different), _area(distance, model.different)
        label = f"{model.title}: AUC {100 * area:.1f} %"
        axes.plot(100 * curve.false_accept, 100 * curve.true_accept, label=label, linewidth=1)
    axes.set(xlabel="different pairs accepted, %", ylabel="matching pairs accepted, %")
    axes.legend(fontsize=7, loc="lower right")


def _encodings(model: DrawnModel, axes: Axes) -> None:
    points = plane(model.vectors)
    for subject in dict.fromkeys(model.subjects):
        chosen = np.array(model.subjects) == subject
        axes.scatter(points[chosen, 0], points[chosen, 1], s=8)
    axes.set(xticks=[], yticks=[], xlabel="two principal components;\na colour is a subject")
    axes.set_title(model.title, loc="left", fontsize=9)


def _distances(model: DrawnModel, kind: PairDistance, axes: Axes) -> None:
    distance = model.distances[kind]
    densities(distance, model.different, axes)
    trained = ", trained with it" if kind == model.trained_with else ""
    axes.set(xlabel=_NAMES[kind], ylabel="density")
    axes.set_title(f"AUC {100 * _area(distance, model.different):.1f} %{trained}", loc="left", fontsize=9)
    axes.legend(fontsize=7)


def _area(distance: Float[np.ndarray, " pairs"], different: Bool[np.ndarray, " pairs"]) -> float:
    return verification_metrics(distance, different, float(np.median(distance))).auc
