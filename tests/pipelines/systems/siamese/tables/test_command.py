"""`vtr tables siamese`: what is trained, what is kept, what is refused; runs are replaced by made figures."""

import json
from pathlib import Path

import pytest

from pipelines.systems.siamese import face_runs as margin_choice
from pipelines.systems.siamese import face_runs as together_siamese
from pipelines.systems.siamese import siamese_tables as tables_siamese
from pipelines.systems.siamese.face_runs import FaceRuns, MarginChoice
from pipelines.systems.siamese.siamese_plan import SiameseTableFlags
from pipelines.systems.siamese.siamese_tables import tables
from pipelines.tables.side_by_side import RowRun
from tests.builders.made_faces import ingested, made_faces, made_lfw
from tests.pipelines.systems.siamese.tables.test_paper import figures
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.evaluated_rows import read_images
from vtr_core.data.records.annotations import load_pairs
from vtr_core.data.records.schema import ImageSchema
from vtr_core.data.sources.lfw import lfw_folder
from vtr_core.data.splits import GroupSplit
from vtr_core.errors import ConfigError, InputError, RunConflict
from vtr_core.storage import Location


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made_faces(tmp_path / "faces", subjects=9, images=2)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(preset, folder of the run) of each training."""
    found: list[tuple[str, str]] = []

    def train(runs, config, data, folder):
        found.append((config.preset, folder))
        return folder

    monkeypatch.setattr(FaceRuns, "checkpoint", train)
    monkeypatch.setattr(tables_siamese, "draw_figures", lambda plan: None)
    monkeypatch.setattr(FaceRuns, "data", lambda runs, name, split: name)
    monkeypatch.setattr(
        tables_siamese, "_figures", lambda flags, checkpoint, data, threshold: {"figures": figures(90.0), "margin": 1.0}
    )
    return found


def test_every_row_and_group_once_and_kept(root: Path, tmp_path: Path, trained: list[tuple[str, str]]) -> None:
    flags = SiameseTableFlags(faces=str(root), group_size=3, out=str(tmp_path / "out"), groups=(0,))
    page = tables(flags, {"training.epochs": 1})
    assert sorted(name for name, _ in trained) == sorted(
        [
            "siamese-att-small",
            *(
                f"siamese-att-small-{variant}"
                for variant in ("lenet", "resnet-34", "alexnet", "inception-v3", "drop-caps")
            ),
        ]
    )
    assert page.count("1 of 3") == 6
    scn = SiameseTableFlags(faces=str(root), group_size=3, out=str(tmp_path / "out"), only=("scn",))
    with pytest.raises(RunConflict, match=r"other settings \(training\.epochs = 360, was 1\)"):
        tables(scn, {})
    tables(scn, {"training.epochs": 1})
    assert len(trained) == 8
    saved = json.loads((tmp_path / "out" / "scn" / "group-1" / "figures.json").read_text())
    split = saved["split"]
    assert not set(split["test"]) & {*split["train"], *split["validation"]}
    assert "3 of 3" in (tmp_path / "out" / "table.md").read_text()


def test_with_margins_all_subjects_train_that_do_not_test(
    root: Path, tmp_path: Path, trained: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []
    seen: list[tuple[str, float | None]] = []

    def choose(runs, config, margins, folds, name, folder):
        judged.extend(subject for fold in folds for subject in fold.validation)
        return MarginChoice("val/auc", {"0.4": 0.9}, 0.4, 0.3)

    def scored(flags, checkpoint, data, threshold):
        seen.append((checkpoint, threshold))
        return {"figures": figures(90.0), "margin": 0.4}

    monkeypatch.setattr(margin_choice, "choose_margin", choose)
    monkeypatch.setattr(tables_siamese, "_figures", scored)
    flags = SiameseTableFlags(
        faces=str(root),
        group_size=3,
        out=str(tmp_path / "out"),
        groups=(1,),
        only=("scn",),
        margins=(0.4, 1.0),
        folds=3,
    )
    page = tables(flags, {})
    folder = tmp_path / "out" / "scn" / "group-1"
    split = json.loads((folder / "figures.json").read_text())["split"]
    assert sorted(judged) == sorted(split["train"])
    assert len(split["train"]) == 6
    assert split["validation"] == []
    assert not set(split["test"]) & set(split["train"])
    assert seen == [(str(folder / "refit"), 0.3)]
    assert "3-fold cross-validation by subject over them for the margin (of 0.4, 1)" in page


@pytest.mark.parametrize("changed", [{"seed": 1}, {"margins": (0.4,), "groups": (1,)}])
def test_figures_of_another_split_are_refused(
    root: Path, tmp_path: Path, trained: list[tuple[str, str]], changed
) -> None:
    flags = {"faces": str(root), "group_size": 3, "out": str(tmp_path / "out"), "groups": (0,), "only": ("scn",)}
    tables(SiameseTableFlags(**flags), {})
    with pytest.raises(RunConflict, match="of other subjects or of another way to validate"):
        tables(SiameseTableFlags(**{**flags, **changed}), {})
    assert len(trained) == 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"only": ("vgg",)}, "no row 'vgg'; rows: lenet, resnet-34"),
        ({"groups": (3,)}, "no group 3; groups are 0 to 2"),
        ({"group_size": 5}, "9 subjects make 1 groups of 5"),
        ({"preset": "siamese"}, "no preset 'siamese'"),
        ({"max_concurrent": 0}, "--max-concurrent"),
    ],
)
def test_faults(root: Path, tmp_path: Path, trained: list[tuple[str, str]], changed, message: str) -> None:
    flags = SiameseTableFlags(**{"faces": str(root), "group_size": 3, "out": str(tmp_path / "out"), **changed})
    with pytest.raises(ConfigError, match=message):
        tables(flags, {})
    assert trained == []


def test_lfw_has_rows_of_both_losses_over_its_folds(tmp_path: Path, trained: list[tuple[str, str]]) -> None:
    root = made_lfw(tmp_path / "lfw")
    flags = SiameseTableFlags(lfw=str(root), out=str(tmp_path / "out"), groups=(1,))
    page = tables(flags, {"training.epochs": 1, "loss.margin": 0.3, "model.tower.channels": 8})
    names = [name for name, _ in trained]
    assert len(names) == 12
    assert {name for name in names if not name.endswith("double-margin")} == {
        "siamese-lfw",
        *(f"siamese-lfw-{variant}" for variant in ("drop-caps", "lenet", "alexnet", "resnet-34", "inception-v3")),
    }
    assert page.count("1 of 3") == 12
    assert "3 folds of View 2 test in turn" in page
    saved = json.loads((tmp_path / "out" / "scn-double-margin" / "group-1" / "figures.json").read_text())
    assert saved["split"] == {"train": ["0"], "validation": ["2"], "test": ["1"]}
    assert saved["settings"]["loss"]["kind"] == "pair_double_margin"
    assert "margin" not in saved["settings"]["loss"]


def test_a_round_of_lfw_is_in_colour_and_of_its_folds(tmp_path: Path) -> None:
    root = made_lfw(tmp_path / "lfw", folds=4)
    runs = FaceRuns(lfw_folder(str(root)), 40, 0, str(tmp_path / "out"), "faces")
    found = ingested(runs.source(GroupSplit(("0", "3"), ("2",), ("1",))), tmp_path / "data")
    people, pairs = {}, {}
    for name, uri in found.items():
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


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, "takes one of --faces FOLDER"),
        ({"faces": "a", "lfw": "b"}, "takes one of --faces FOLDER"),
        ({"lfw": "b", "margins": (0.2,)}, "--margins is for --faces"),
    ],
)
def test_one_of_two_folders(changed, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tables(SiameseTableFlags(**changed), {})


@pytest.mark.parametrize("margins", [(), (0.4, 1.0)])
def test_side_by_side_all_validated_trainings_come_first_and_their_checkpoints_are_judged(
    root: Path,
    tmp_path: Path,
    trained: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    margins: tuple[float, ...],
) -> None:
    """With margins those are the folds'; figures that are there are not trained for again."""
    given: list[RowRun] = []

    def together(rows: list[RowRun], most: int, scratch: Location) -> dict[str, str]:
        assert (most, scratch.name) == (2, "tune")
        given.extend(rows)
        return {row.folder: f"checkpoint of {row.name}" for row in rows}

    judged: list[str] = []

    def choose(runs, config, margins, folds, name, folder):
        assert all(f"{folder}/margin-1-fold-{fold}-of-3" in runs.trained for fold in range(3))
        return MarginChoice("val/auc", {"0.4": 0.9}, 0.4, 0.3)

    def scored(flags, checkpoint, data, threshold):
        judged.append(checkpoint)
        return {"figures": figures(90.0), "margin": 0.4}

    monkeypatch.setattr(FaceRuns, "checkpoint", lambda runs, config, data, folder: runs.trained.get(folder, folder))
    monkeypatch.setattr(together_siamese, "train_side_by_side", together)
    monkeypatch.setattr(margin_choice, "choose_margin", choose)
    monkeypatch.setattr(tables_siamese, "_figures", scored)
    flags = SiameseTableFlags(
        faces=str(root),
        group_size=3,
        out=str(tmp_path / "out"),
        groups=(1, 2),
        only=("scn", "lenet"),
        margins=margins,
        folds=3,
        max_concurrent=2,
    )
    page = tables(flags, {})
    names = [row.name for row in given]
    if margins:
        assert len(names) == 2 * 2 * 2 * 3
        assert names[-1] == "lenet-group-2-margin-1-fold-2-of-3"
        assert [getattr(row.config.loss, "margin", None) for row in given[:6]] == [0.4] * 3 + [1.0] * 3
        assert all(checkpoint.endswith("/refit") for checkpoint in judged)
    else:
        assert names == ["scn-group-1", "lenet-group-1", "scn-group-2", "lenet-group-2"]
        assert judged == [f"checkpoint of {name}" for name in names]
    assert tables(flags, {}) == page
    assert len(given) == len(names)
