"""`vtr tables siamese`: what is trained, what is kept, what is refused; runs are replaced by made figures."""

import json
from pathlib import Path

import pytest

from pipelines import tables_siamese
from pipelines.tables_siamese import SiameseTableFlags, tables
from tests.made_faces import made_faces
from tests.tables.test_siamese import figures
from vtr_core.errors import ConfigError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made_faces(tmp_path / "faces", subjects=9, images=2)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(preset, folder of the run) of each training."""
    found: list[tuple[str, str]] = []

    def train(config, data, folder, experiment):
        found.append((config.preset, folder))
        return folder

    monkeypatch.setattr(tables_siamese, "train_once", train)
    monkeypatch.setattr(tables_siamese, "_ingested", lambda flags, name, split: name)
    monkeypatch.setattr(
        tables_siamese, "_figures", lambda flags, checkpoint, data: {"figures": figures(90.0), "margin": 1.0}
    )
    return found


def test_every_row_and_group_once_and_kept(root: Path, tmp_path: Path, trained: list[tuple[str, str]]) -> None:
    flags = SiameseTableFlags(faces=str(root), group_size=3, out=str(tmp_path / "out"), groups=(0,))
    page = tables(flags, {"training.epochs": 1})
    assert [name for name, _ in trained] == [
        "siamese-att-small",
        *(f"siamese-att-small-{variant}" for variant in ("drop-caps", "lenet", "alexnet", "resnet-34")),
    ]
    assert page.count("1 of 3") == 5
    tables(SiameseTableFlags(faces=str(root), group_size=3, out=str(tmp_path / "out"), only=("scn",)), {})
    assert len(trained) == 7
    saved = json.loads((tmp_path / "out" / "scn" / "group-1" / "figures.json").read_text())
    split = saved["split"]
    assert not set(split["test"]) & {*split["train"], *split["validation"]}
    assert "3 of 3" in (tmp_path / "out" / "table.md").read_text()


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
