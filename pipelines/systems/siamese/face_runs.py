"""Data sets and runs for a table of faces, the choice of margins, and trainings side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from pipelines.evaluation_inputs import device
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.systems.registry import SYSTEMS
from pipelines.systems.siamese.siamese_paper import PaperRow
from pipelines.systems.siamese.siamese_plan import FacePlan, finished_figures, group_folder, row_config
from pipelines.tables.side_by_side import RowRun, train_side_by_side
from pipelines.train.command import TrainFlags, resume, train
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.faces import Faces
from vtr_core.data.sources.lfw import Lfw, LfwFolder
from vtr_core.data.splits import GroupSplit, folds
from vtr_core.metrics.verification import equal_error_threshold
from vtr_core.run.config import TrainConfig
from vtr_core.storage import locate
from vtr_core.storage.location import below
from vtr_core.systems.siamese.verification import encode_faces, score_pairs, siamese
from vtr_core.train.checkpoint.trained_model import read_model

LFW_SIZE = 100
"""Rows and columns of LFW's photographs, published with 250 × 250, as the paper resizes them."""


@dataclass(frozen=True)
class FaceRuns:
    """Creates the data sets and runs of a table in a folder."""

    faces: str | LfwFolder
    """Folder with a folder of images for each subject, or a copy of LFW, whose splits are of folds."""
    size: int | None
    """Rows and columns that images are resized to."""
    seed: int
    """Random seed of the pairs."""
    out: str
    experiment: str
    trained: Mapping[str, str] = field(default_factory=dict)
    """Checkpoints of runs that were trained side by side, by run folder."""

    def data(self, name: str, split: GroupSplit) -> str:
        """The data set `name` with the subjects of each split; RunConflict if it exists with others."""
        place = below(self.out, f"data/{name}")
        ingest(self.source(split), IngestFlags(out=place))
        return place

    def source(self, split: GroupSplit) -> Faces | Lfw:
        """The images and pairs of a round. LFW's are in colour, and its pairs those of its file."""
        if isinstance(self.faces, LfwFolder):
            return Lfw(
                root=self.faces.people,
                pairs_file=self.faces.pairs,
                size=self.size or LFW_SIZE,
                grey=False,
                validation_folds=tuple(map(int, split.validation)),
                test_folds=tuple(map(int, split.test)),
            )
        return Faces(
            root=locate(self.faces).uri,  # normalised path of the folder
            size=self.size,
            subjects=(*split.train, *split.validation, *split.test),
            validation=split.validation,
            test=split.test,
            pair_seed=self.seed,
        )

    def checkpoint(self, config: TrainConfig, data: str, folder: str) -> str:
        """The run's checkpoint; an interrupted run is resumed, a finished one reused."""
        if folder in self.trained:
            return self.trained[folder]
        if storage.exists(locate(folder) / "run.json"):
            return resume(folder).checkpoint
        return train(config, self.flags(data, folder)).checkpoint

    def flags(self, data: str, folder: str) -> TrainFlags:
        """What a training is asked for."""
        return TrainFlags(data=data, out=folder, experiment=self.experiment)


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
    value = read_model(checkpoint, SYSTEMS).progress.best_value
    assert value is not None, "every fold has validation subjects"
    return value


def _threshold(checkpoints: Sequence[str], data: Sequence[str]) -> float:
    """The equal-error threshold over the validation pairs of all `data`."""
    scored = []
    for checkpoint, uri in zip(checkpoints, data, strict=True):
        loaded, manifest = read_model(checkpoint, SYSTEMS, device()), Manifest.load(below(uri, "val"))
        scored.append(score_pairs(encode_faces(siamese(loaded), loaded.config, manifest), manifest, loaded.config))
    distance = np.concatenate([fold.distance for fold in scored])
    return equal_error_threshold(distance, np.concatenate([fold.different for fold in scored]))


def trained_together(plan: FacePlan, runs: FaceRuns, rows: Sequence[PaperRow], numbers: Sequence[int]) -> FaceRuns:
    """The runs with the checkpoints of all trainings whose figures are missing, `max_concurrent` of them at a time.

    All data sets are made first. TrainingError where trainings failed, once the others have ended.
    """
    wanted = [
        one
        for number in numbers
        for row in rows
        if finished_figures(plan, row, number) is None
        for one in _trainings(plan, runs, row, number)
    ]
    if not wanted:
        return runs
    trained = train_side_by_side(wanted, plan.flags.max_concurrent, locate(plan.flags.out) / "tune")
    return replace(runs, trained=trained)


def _trainings(plan: FacePlan, runs: FaceRuns, row: PaperRow, number: int) -> Iterator[RowRun]:
    """The trainings of a row and group that are validated: the one of the table, or with margins those of the folds."""
    flags, split, folder = plan.flags, plan.splits[number], group_folder(plan, row, number)
    config, name = row_config(plan, row), f"{row.name}-group-{number}"
    if not flags.margins:
        yield RowRun(name, config, runs.flags(runs.data(f"group-{number}", split), below(folder, "run")))
        return
    parts = folds(split.train, flags.folds, flags.seed)
    for one in fold_runs(runs, config, flags.margins, parts, f"group-{number}", folder):
        yield RowRun(f"{name}-{locate(one.folder).name}", one.config, runs.flags(one.data, one.folder))
