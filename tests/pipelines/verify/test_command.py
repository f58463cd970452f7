"""A saved checkpoint evaluated on pairs and asked about two files, without Ray."""

import json
from pathlib import Path

import pytest
import torch

from pipelines.systems.registry import SYSTEMS
from pipelines.systems.siamese.face_verification import evaluate
from pipelines.systems.siamese.verify_faces import VerificationFlags
from pipelines.verify import VerifyFlags, verify
from tests.builders.made_faces import ingested, made_faces, names
from tests.systems.siamese.test_task import SMALL
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.faces import Faces
from vtr_core.errors import ConfigError, DatasetError, InputError
from vtr_core.run.build import build_model, build_task
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.systems.siamese.verification import encode_faces, score_pairs, siamese
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress
from vtr_core.train.checkpoint.run_folder import RunFolder
from vtr_core.train.checkpoint.trained_model import read_model
from vtr_core.train.loop.learner import Learner

FIRST = Progress(step=1)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_faces(tmp_path_factory.mktemp("raw") / "faces", subjects=9)


@pytest.fixture(scope="module")
def data(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    source = Faces(root=str(raw), validation=names(1, 3), test=names(4, 6))
    return ingested(source, tmp_path_factory.mktemp("data") / "faces")


def saved(folder: Path, data: dict[str, str], validated: bool = True, seed: int = 0, progress: Progress = FIRST) -> str:
    """A checkpoint of fresh weights."""
    train = Manifest.load(data["train"])
    config = with_inputs(override(preset("siamese-att-tiny"), {**SMALL, "batch.videos": 2}), train)
    torch.manual_seed(seed)
    model, task = build_model(config.model), build_task(config, 0, 1)
    learner = Learner(model, task.objective, config, lambda module: module)
    if validated:
        task.evaluate(learner.evaluated, Manifest.load(data["val"]), Vocabulary(()))
    origin = {"data": train.uri, "data.fingerprint": train.fingerprint}
    state = Checkpoint(config, progress=progress, vocabulary=Vocabulary(()), provenance=origin, **learner.state())
    RunFolder.at(str(folder)).save(state, keep=1)
    return str(folder / "checkpoints" / "step-00000001")


def test_evaluation_and_two_files(data: dict[str, str], raw: Path, tmp_path: Path) -> None:
    checkpoint = saved(tmp_path / "run", data)
    flags = VerificationFlags(checkpoint, (data["test"],), out=str(tmp_path / "f.json"), experiment="faces")
    (result,) = evaluate(flags)
    assert result.metrics.num_matching == result.metrics.num_different == 18
    found = json.loads((tmp_path / "f.json").read_text())["sets"]["test"]["figures"]
    assert found["accuracy"] == result.metrics.accuracy
    first = str(raw / "s4" / "1.pgm")
    same = verify(VerifyFlags(checkpoint, first, first))
    assert same.same
    assert same.distance == pytest.approx(0, abs=1e-6)
    assert same.threshold == pytest.approx(result.metrics.threshold)
    loaded, manifest = read_model(checkpoint, SYSTEMS), result.manifest
    scored = score_pairs(encode_faces(siamese(loaded), loaded.config, manifest), manifest, loaded.config)
    files = [str(raw / f"{name}.pgm") for name in (scored.pairs[0].first, scored.pairs[0].second)]
    assert verify(VerifyFlags(checkpoint, *files)).distance == pytest.approx(scored.distance[0], abs=1e-5)
    with pytest.raises(InputError, match="there is no file"):
        verify(VerifyFlags(checkpoint, first, str(raw / "s4" / "99.pgm")))


def test_leaks_and_missing_thresholds(data: dict[str, str], raw: Path, tmp_path: Path) -> None:
    other = ingested(Faces(root=str(raw), test=names(7, 9)), tmp_path / "other")
    checkpoint = saved(tmp_path / "run", data)
    with pytest.raises(DatasetError, match="share 3 subjects: s7, s8, s9"):
        evaluate(VerificationFlags(checkpoint, (other["test"],)))
    evaluate(VerificationFlags(checkpoint, (other["test"],), allow_seen=True, experiment="faces"))
    unsure = saved(tmp_path / "unsure", data, validated=False)
    with pytest.raises(ConfigError, match="knows no threshold; give one with --threshold"):
        evaluate(VerificationFlags(unsure, (data["test"],)))
