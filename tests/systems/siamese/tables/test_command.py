"""`vtr tables siamese`: what is trained, what is kept, what is refused; runs are replaced by made figures."""

import json
from pathlib import Path

import pytest

from tests.builders.made_faces import made_faces
from tests.systems.siamese.tables.test_paper import figures
from vtr_core.errors import ConfigError, RunConflict
from vtr_core.systems.siamese.tables import command as tables_siamese
from vtr_core.systems.siamese.tables import margin_choice
from vtr_core.systems.siamese.tables.command import SiameseTableFlags, tables
from vtr_core.systems.siamese.tables.face_runs import FaceRuns
from vtr_core.systems.siamese.tables.margin_choice import MarginChoice


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
    monkeypatch.setattr(FaceRuns, "data", lambda runs, name, split: name)
    monkeypatch.setattr(
        tables_siamese, "_figures", lambda flags, checkpoint, data, threshold: {"figures": figures(90.0), "margin": 1.0}
    )
    return found


def test_every_row_and_group_once_and_kept(root: Path, tmp_path: Path, trained: list[tuple[str, str]]) -> None:
    flags = SiameseTableFlags(faces=str(root), group_size=3, out=str(tmp_path / "out"), groups=(0,))
    page = tables(flags, {"training.epochs": 1})
    assert [name for name, _ in trained] == [
        "siamese-att-small",
        *(f"siamese-att-small-{variant}" for variant in ("drop-caps", "lenet", "alexnet", "resnet-34", "inception-v3")),
    ]
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
        ({"only": ("vgg",)}, "no row 'vgg'; rows: scn, drop-caps"),
        ({"groups": (3,)}, "no group 3; groups are 0 to 2"),
        ({"group_size": 5}, "9 subjects make 1 groups of 5"),
        ({"preset": "siamese"}, "no preset 'siamese'"),
    ],
)
def test_faults(root: Path, tmp_path: Path, trained: list[tuple[str, str]], changed, message: str) -> None:
    flags = SiameseTableFlags(**{"faces": str(root), "group_size": 3, "out": str(tmp_path / "out"), **changed})
    with pytest.raises(ConfigError, match=message):
        tables(flags, {})
    assert trained == []
