"""`vtr tables siamese`: what is trained, what is kept, what is refused; trainings are replaced by made figures."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pipelines.systems.siamese import face_rounds
from pipelines.systems.siamese.face_rounds import ATT, LFW, MarginChoice, choose_margin, tables
from pipelines.systems.siamese.siamese_figures import DrawnModel, draw, drawn_model, plane
from pipelines.systems.siamese.siamese_tables import SiameseTableFlags
from pipelines.systems.siamese.verify_faces import VerificationFlags
from pipelines.tables import runs as table_runs
from pipelines.tables.layout import Results, markdown
from pipelines.tables.runs import Sweep, TestSet
from tests.builders.made_faces import ingested, made_faces, made_lfw, names
from tests.pipelines.verify.test_command import saved
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.plan import GroupSplit, folds, row_groups
from vtr_core.data.reading.evaluated_rows import read_images
from vtr_core.data.records.arrays import load_pairs
from vtr_core.data.records.schema import ImageSchema
from vtr_core.data.sources.faces import Faces
from vtr_core.errors import ConfigError, InputError, RunConflict
from vtr_core.metrics.verification import equal_error_threshold
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.systems.siamese.config import PairContrastiveConfig
from vtr_core.systems.siamese.verification import encode_faces, score_pairs
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.checkpoint_files import Progress

FIGURES = {"accuracy": 90.0, "loss": 0.05, "accuracy_at_margin": 80.0, "auc": 97.0, "eer": 6.0}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made_faces(tmp_path / "faces", subjects=9, images=2)


@pytest.fixture
def flags(root: Path, tmp_path: Path) -> SiameseTableFlags:
    return SiameseTableFlags(faces=str(root), group_size=3, out=str(tmp_path / "out"))


@pytest.fixture
def ingests(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The sources of the data sets that are made, of which none is written."""
    sources: list[object] = []
    monkeypatch.setattr(face_rounds, "ingest", lambda source, options: sources.append(source))
    return sources


@pytest.fixture
def trained(ingests: list[object], monkeypatch: pytest.MonkeyPatch) -> list[tuple[TrainConfig, str]]:
    """The configuration and run folder of each training."""
    runs: list[tuple[TrainConfig, str]] = []

    def train(sweep: Sweep, config: TrainConfig, folder: str) -> str:
        runs.append((config, folder))
        return folder

    def evaluate(checkpoint: str, test_set: TestSet, experiment: str) -> dict[str, object]:
        return {"uri": test_set.uri, "figures": {f"{test_set.name}/{n}": v for n, v in FIGURES.items()}, "chance": {}}

    monkeypatch.setattr(Sweep, "train", train)
    monkeypatch.setattr(table_runs, "_evaluated", evaluate)
    monkeypatch.setattr(face_rounds, "_draw_figures", lambda flags, rounds: None)
    return runs


def test_every_row_and_group_once_and_kept(
    flags: SiameseTableFlags, trained: list[tuple[TrainConfig, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str | None] = []
    monkeypatch.setattr(face_rounds, "check_settings", lambda folder, config: written.append(config.preset))
    page = tables(replace(flags, groups=(0,)), {"training.epochs": 1, "model.tower.channels": 8})
    variants = ("", "-lenet", "-resnet-34", "-alexnet", "-inception-v3", "-drop-caps")
    assert {config.preset for config, _ in trained} == {f"siamese-att-small{variant}" for variant in variants}
    assert {config.training.epochs for config, _ in trained} == {1}
    assert page.count("1 of 3 groups") == 6
    assert "3 disjoint groups of 3 test subjects, the next group validates, all others train." in page
    assert "**These figures mean nothing** beside the paper's: the data have 9 subjects, 35 are the least" in page
    assert "94.21 → **90.00**" in page
    page = tables(replace(flags, only=("scn",)), {"training.epochs": 1})
    assert len(trained) == 8
    assert "- SCN: 3 of 3 groups." in page


def test_figures_of_other_settings_and_splits_are_refused(
    flags: SiameseTableFlags, trained: list[tuple[TrainConfig, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipelines.ingest.command import ingest

    monkeypatch.undo()
    monkeypatch.setattr(face_rounds, "_draw_figures", lambda flags, rounds: None)
    monkeypatch.setattr(face_rounds, "ingest", lambda source, options: ingest(source, replace(options, workers=0)))

    def train(config: TrainConfig, options: object) -> None:
        raise InterruptedError

    monkeypatch.setattr("pipelines.tables.runs.train", train)
    flags = replace(flags, groups=(0,), only=("scn",))
    with pytest.raises(InterruptedError):
        tables(flags, {"training.epochs": 1})
    with pytest.raises(RunConflict, match=r"other settings \(training\.epochs = 360, was 1\)"):
        tables(replace(flags, groups=(1,)), {})
    with pytest.raises(RunConflict, match="group-0"):
        tables(replace(flags, groups=(1,), seed=1), {"training.epochs": 1})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"only": ("vgg",)}, "no row 'vgg'; rows: lenet, resnet-34"),
        ({"groups": (3,)}, "no group 3; groups are 0 to 2"),
        ({"group_size": 5}, "9 subjects make 1 groups of 5"),
        ({"preset": "siamese"}, "no preset 'siamese'"),
        ({"faces": None}, "takes one of --faces FOLDER"),
        ({"lfw": "b"}, "takes one of --faces FOLDER"),
        ({"faces": None, "lfw": "b", "margins": (0.2,)}, "--margins is for --faces"),
    ],
)
def test_faults(
    flags: SiameseTableFlags, trained: list[tuple[TrainConfig, str]], changed: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        tables(replace(flags, **changed), {})
    assert trained == []


def test_lfw_has_rows_of_both_losses_over_its_folds(tmp_path: Path, trained: list[tuple[TrainConfig, str]]) -> None:
    flags = SiameseTableFlags(lfw=str(made_lfw(tmp_path / "lfw")), out=str(tmp_path / "out"), groups=(1,))
    page = tables(flags, {"training.epochs": 1, "loss.margin": 0.3, "model.tower.channels": 8})
    losses = Counter((config.loss.kind, getattr(config.loss, "margin", None)) for config, _ in trained)
    assert losses == {("pair_contrastive", 0.3): 6, ("pair_double_margin", None): 6}
    assert page.count("1 of 3 groups") == 12
    assert "3 folds of View 2 test in turn" in page


def test_a_round_of_lfw_is_in_colour_and_of_its_folds(tmp_path: Path) -> None:
    flags = SiameseTableFlags(lfw=str(made_lfw(tmp_path / "lfw", folds=4)), size=40, out=str(tmp_path / "out"))
    source = face_rounds.face_rounds(flags).source(GroupSplit(("0", "3"), ("2",), ("1",)))
    people, pairs = {}, {}
    for name, uri in ingested(source, tmp_path / "data").items():
        manifest = Manifest.load(uri)
        assert isinstance(manifest.schema, ImageSchema)
        assert manifest.schema.shape == (40, 40, 3)
        people[name] = set(read_images(manifest, row_groups(manifest)).subject)
        pairs[name] = {pair.fold for pair in load_pairs(manifest.source, manifest.location).pairs}
    assert pairs == {"train": {0, 3}, "val": {2}, "test": {1}}
    assert people["test"] == {f"Person_1{letter}" for letter in "abcd"}
    assert people["train"] == {f"Person_{fold}{letter}" for fold in (0, 3) for letter in "abcd"}


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        ("pairs.txt", r"has no pairs.txt; a copy of LFW holds pairs.txt \(View 2\)"),
        ("Person_0a", "has no photographs of Person_0a, whom pairs.txt names first; .*Abel_Pacheco_0001.jpg"),
    ],
)
def test_what_a_copy_of_lfw_must_hold(tmp_path: Path, lacking: str, message: str) -> None:
    root = made_lfw(tmp_path / "lfw")
    (root / lacking).rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=message):
        tables(SiameseTableFlags(lfw=str(root), out=str(tmp_path / "out")), {})


def test_the_papers_figures() -> None:
    assert {row.title: row.paper[2] for row in ATT.rows if row.paper[2] is not None} == {
        "LeNet": 87.09, "ResNet-34": 92.05, "AlexNet": 91.20, "SCN": 94.21, "SDropCapNet": 94.71
    }  # fmt: skip
    assert {row.variant for row in LFW.rows} >= {"double-margin", "double-margin-drop-caps", "", "drop-caps"}
    results = Results({"double-margin": {"test/accuracy": (97.0,), "train/loss": (0.01,)}})
    (line,) = (line for line in markdown(LFW, results).splitlines() if line.startswith("| SCN, double margin"))
    assert "97.47 → **97.00**" in line
    assert "0.0019 → **0.0100**" in line


def test_with_margins_all_subjects_train_that_do_not_test(
    flags: SiameseTableFlags, trained: list[tuple[TrainConfig, str]], ingests: list[Faces],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    chosen: list[tuple[tuple[float, ...], int]] = []
    thresholds: list[float] = []

    def choose(config, margins, fold_data, folder, experiment):
        chosen.append((margins, len(fold_data)))
        return MarginChoice("val/auc", {"0.4": 0.9}, 0.4, 0.3)

    def evaluate(given: VerificationFlags) -> list[SimpleNamespace]:
        thresholds.append(given.threshold)
        return [SimpleNamespace(metric_values=lambda name: {f"{name}/accuracy": 90.0})]

    monkeypatch.setattr(face_rounds, "choose_margin", choose)
    monkeypatch.setattr(face_rounds, "evaluate", evaluate)
    flags = replace(flags, groups=(1,), only=("scn",), margins=(0.4, 1.0), folds=3)
    page = tables(flags, {})
    refit, *of_folds = ingests
    assert refit.validation == ()
    assert sorted(subject for fold in of_folds for subject in fold.validation) == sorted(
        set(names(1, 9)) - {*refit.test}
    )
    assert (chosen, thresholds) == ([((0.4, 1.0), 3)], [0.3, 0.3])
    assert [config.loss.margin for config, _ in trained] == [0.4]
    assert "3-fold cross-validation by subject over them for the margin (of 0.4, 1)" in page
    assert tables(flags, {}) == page
    assert len(chosen) == 1


@pytest.mark.parametrize(
    ("values", "best"),
    [
        ({0.4: (0.9, 0.6, 0.6), 0.6: (0.8, 0.8, 0.8), 1.0: (0.7, 0.7, 0.7)}, 0.6),
        ({1.0: (0.5, 0.75, 0.5), 0.6: (0.75, 0.5, 0.5), 0.4: (0.5, 0.5, 0.5)}, 0.6),  # of equals the smallest
    ],
)
def test_the_margin_of_highest_mean_and_a_threshold_of_all_folds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: Mapping[float, Sequence[float]], best: float
) -> None:
    """Fresh weights stand in for trained ones, with the validation figures of `values`."""

    def train(sweep: Sweep, config: TrainConfig, folder: str) -> str:
        assert isinstance(config.loss, PairContrastiveConfig)
        fold = int(folder.split("-fold-")[1][0])
        progress = Progress(step=1, best_value=values[config.loss.margin][fold])
        return saved(Path(folder), splits(sweep.data), seed=fold, progress=progress)

    monkeypatch.setattr(Sweep, "train", train)
    faces, data = str(made_faces(tmp_path / "faces", subjects=6)), []
    for fold, part in enumerate(folds(names(1, 6), 3, seed=0)):
        data.append(str(tmp_path / f"fold-{fold}"))
        ingested(
            Faces(root=faces, subjects=(*part.train, *part.validation), validation=part.validation), Path(data[-1])
        )
    folder = str(tmp_path / "scn")
    choice = choose_margin(preset("siamese-att-tiny"), tuple(values), data, folder, "faces")
    assert choice.margin == best
    assert choice.means[f"{best:g}"] == pytest.approx(sum(values[best]) / 3)
    distance, different, judged = [], [], set()
    for fold, uri in enumerate(data):
        loaded = load_model(face_rounds.fold_folder(folder, best, fold, 3))
        manifest = Manifest.load(f"{uri}/val")
        scored = score_pairs(encode_faces(loaded.model, loaded.config, manifest), manifest, loaded.config)  # type: ignore[arg-type]
        distance.append(scored.distance)
        different.append(scored.different)
        judged |= {subject for pair in scored.subjects for subject in pair}
    assert judged == set(names(1, 6))
    assert choice.threshold == equal_error_threshold(np.concatenate(distance), np.concatenate(different))
    assert choice.threshold not in [equal_error_threshold(*fold) for fold in zip(distance, different, strict=True)]


@pytest.fixture
def model(tmp_path: Path) -> tuple[DrawnModel, Manifest]:
    raw = made_faces(tmp_path / "faces", subjects=6)
    data = ingested(Faces(root=str(raw), validation=names(3, 4), test=names(5, 6)), tmp_path / "data")
    saved(tmp_path / "run", data)
    points = [
        {"step": 10, "train/loss_pairs": 0.5},
        {"step": 10, "val/auc": 0.9},
        {"step": 20, "train/loss_pairs": 0.25},
    ]
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(f"{json.dumps(point)}\n" for point in points))
    return drawn_model("SCN", str(tmp_path / "run"), data["test"]), Manifest.load(data["test"])


def test_losses_and_all_distances_of_the_pairs(model: tuple[DrawnModel, Manifest]) -> None:
    found, manifest = model
    assert found.losses == [(10, 0.5), (20, 0.25)]
    assert set(found.subjects) == {"s5", "s6"}
    at = {f"{subject}/{1 + index % 4}": index for index, subject in enumerate(found.subjects)}
    pairs = load_pairs(manifest.source, manifest.location).pairs
    for index, pair in enumerate(pairs):
        a, b = found.vectors[at[pair.first]], found.vectors[at[pair.second]]
        assert found.different[index] == pair.different
        assert found.distances["euclidean"][index] == pytest.approx(sum(float(x) ** 2 for x in a - b), abs=1e-5)
        cosine = float(a @ b) / (float(a @ a) ** 0.5 * float(b @ b) ** 0.5)
        assert found.distances["cosine"][index] == pytest.approx(1 - cosine, abs=1e-5)


def test_the_plane_has_the_two_largest_variances() -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32) * np.array([1, 5, 1, 3, 0.5], np.float32)
    largest = np.sort(np.linalg.eigvalsh(np.cov(vectors.T)))[::-1][:2]
    np.testing.assert_allclose(plane(vectors).var(axis=0, ddof=1), largest, rtol=1e-4)


def test_the_picture_has_every_model_and_distance(model: tuple[DrawnModel, Manifest]) -> None:
    found, _ = model
    other = DrawnModel(**{**vars(found), "title": "LeNet", "losses": [], "trained_with": "cosine"})
    texts = re.findall(r"<!-- (.*?) -->", draw([found, other]).decode())
    for distance in ("squared Euclidean distance d²", "1 − exp(−d²) of Manhattan distance d", "cosine distance"):
        assert texts.count(distance) == 2
    assert sum(text.endswith("trained with it") for text in texts) == 2
    assert {text.partition(":")[0] for text in texts} >= {"SCN", "LeNet"}
