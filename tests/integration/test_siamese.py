"""Siamese networks from folders of made faces to a decision on two files."""

import json
import re
from pathlib import Path

import pytest

from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.systems.siamese.face_rounds import fold_folder, group_folder, margins_folder, tables
from pipelines.systems.siamese.face_verification import evaluate
from pipelines.systems.siamese.siamese_tables import SiameseTableFlags
from pipelines.systems.siamese.verify_faces import VerificationFlags
from pipelines.tables.runs import run_folder
from pipelines.train.command import TrainFlags, train
from tests.builders.made_faces import made_faces, made_lfw, names
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.faces import Faces
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.run.presets import preset

pytestmark = pytest.mark.integration
SMALL = {
    "model.size": 36,
    "model.tower.channels": 8,
    "model.tower.primary_types": 4,
    "batch.videos": 6,
    "batch.clips_per_video": 3,
    "training.epochs": 16,
    "training.validate_every": 8,
    "training.log_every": 1,
    "scaling.workers": 0,
}


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_faces(tmp_path_factory.mktemp("raw") / "faces", subjects=24)


@pytest.fixture(scope="module")
def data(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("data") / "faces"
    source = Faces(root=str(raw), validation=names(1, 4), test=names(5, 8))
    ingest(source, IngestFlags(out=str(out), videos_per_shard=5, workers=0))
    return out


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "trained"
    train(override(preset("siamese-att-tiny"), SMALL), TrainFlags(data=str(data), out=str(out), experiment="faces"))
    return out


def test_evaluation_of_unseen_subjects(trained: Path, data: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    flags = VerificationFlags(checkpoint=str(trained), data=(str(data / "test"),), out=str(figures))
    (result,) = evaluate(flags)
    assert result.metrics.auc > 0.75
    assert (result.metrics.num_matching, result.metrics.num_different) == (24, 24)
    saved = json.loads(figures.read_text())["sets"]["test"]
    assert saved["figures"]["accuracy"] == result.metrics.accuracy


def test_what_leaks_is_refused(data: Path, raw: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    ingest(Faces(root=str(raw), test=names(1, 2)), IngestFlags(out=str(other), workers=0))
    settings = override(preset("siamese-att-tiny"), SMALL)
    flags = TrainFlags(data=str(other / "train"), validation=str(data / "train"), out=str(tmp_path / "x"))
    with pytest.raises(DatasetError, match="training and validation share 16 subjects"):
        train(settings, flags)
    assert not (tmp_path / "x").exists()


@pytest.mark.long
def test_table_with_margin_and_threshold_by_cross_validation(raw: Path, tmp_path: Path, local_ray: None) -> None:
    """Of 24 subjects 8 are tested; the other 16 are judged in two folds, then all of them train, without validation."""
    small = {"preset": "siamese-att-tiny", "only": ("scn",), "groups": (0,), "group_size": 8, "folds": 2}
    out = {"out": str(tmp_path / "out"), "experiment": "faces"}
    flags = SiameseTableFlags(faces=str(raw), margins=(0.6,), **small, **out)
    changes = {**SMALL, "training.epochs": 4, "training.validate_every": 4}
    page = tables(flags, changes)
    assert "- SCN: 1 of 3 groups." in page
    assert "SCN: AUC" in "".join(re.findall(r"<!-- (.*?) -->", (tmp_path / "out" / "figures.svg").read_text()))
    folder = group_folder(flags, 0)
    choice = json.loads(Path(margins_folder(folder, ""), "margins.json").read_text())
    figures = json.loads(Path(run_folder(folder, "", 0), "figures-test.json").read_text())["figures"]
    assert (figures["test/threshold"], choice["margin"]) == (choice["threshold"], 0.6)
    assert Path(fold_folder(margins_folder(folder, ""), 0.6, 1, 2)).exists()
    assert Manifest.load(str(tmp_path / "out/data/group-0-refit/train")).videos == 16
    assert tables(flags, changes) == page
    with pytest.raises(ConfigError, match="knows no threshold; give one with --threshold"):
        evaluate(VerificationFlags(run_folder(folder, "", 0), (str(tmp_path / "out/data/group-0-refit/test"),)))


@pytest.mark.long
def test_table_of_lfw_over_its_folds(tmp_path: Path, local_ray: None) -> None:
    """Six folds of four people, in colour: of one round four folds train, one validates and one is tested."""
    small = {"only": ("scn", "double-margin"), "groups": (5,), "size": 40}
    out = {"out": str(tmp_path / "out"), "experiment": "faces"}
    flags = SiameseTableFlags(lfw=str(made_lfw(tmp_path / "lfw", folds=6)), **small, **out)
    few = {"model.tower.num_face_capsules": 4, "model.tower.iterations": 2, "batch.clips_per_video": 2}
    page = tables(flags, {**SMALL, **few, "training.epochs": 4, "training.validate_every": 4})
    assert "- SCN: 1 of 6 groups." in page
    assert "- SCN, double margin: 1 of 6 groups." in page
    figures = Path(run_folder(group_folder(flags, 5), "double-margin", 0), "figures-test.json").read_text()
    assert 0 <= json.loads(figures)["figures"]["test/accuracy"] <= 100
    manifest = json.loads((tmp_path / "out" / "data" / "group-5" / "test" / "manifest.json").read_text())
    assert manifest["rows"] == 7
