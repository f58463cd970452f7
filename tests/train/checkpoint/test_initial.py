"""`vtr train --init`: a run begins with the tensors of another model that fit; each of the others is named."""

import json
from pathlib import Path

import pytest
import torch

from pipelines.train.command import TrainFlags, train
from tests.builders.dual_checkpoints import capsule_checkpoint, dual_checkpoint
from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.errors import CheckpointError
from vtr_core.run.build import build_model
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.trained_model import LoadedModel
from vtr_core.train.loop.learner import fitting


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return toy_dataset(tmp_path_factory.mktemp("clips"))[0]


@pytest.fixture(scope="module")
def capsules(clips: Manifest, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(capsule_checkpoint(tmp_path_factory.mktemp("capsules"), clips))


@pytest.fixture(scope="module")
def dual(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    videos = toy_videos(tmp_path_factory.mktemp("videos"))
    return load_model(dual_checkpoint(tmp_path_factory.mktemp("dual"), videos))


def test_what_has_another_size_is_named_with_both(capsules: LoadedModel) -> None:
    wider = override(capsules.config, {"model.embedding_dim": 6})
    found = fitting(wider, capsules.vocabulary, None, capsules)
    assert found.taken
    assert found.refused
    for name, reason in found.refused.items():
        here = tuple(build_model(wider.model).state_dict()[name].shape)
        there = tuple(capsules.model.state_dict()[name].shape)
        assert reason == f"{here} here, {there} there"
    assert found.summary.startswith(f"{len(found.taken)} of {len(found.taken) + len(found.refused)} tensors taken; ")


def test_places_of_other_words_are_not_taken(capsules: LoadedModel) -> None:
    """They have the same shape, and another meaning."""
    others = Vocabulary(tuple(f"other{i}" for i in range(len(capsules.vocabulary))))
    found = fitting(capsules.config, others, None, capsules)
    assert set(found.refused) == {name for name in capsules.model.state_dict() if name.endswith("vectors.weight")}
    assert all("vocabularies differ" in reason for reason in found.refused.values())


def test_a_model_of_which_nothing_fits_is_refused(capsules: LoadedModel, dual: LoadedModel) -> None:
    with pytest.raises(CheckpointError, match=r"no tensor of .*, a 'hybrid_encoder' model, fits"):
        fitting(capsules.config, capsules.vocabulary, None, dual)


def test_a_run_begins_with_the_weights(capsules: LoadedModel, clips: Manifest, tmp_path: Path) -> None:
    still = {
        "model.num_capsules": 4, "model.embedding_dim": 4, "model.words.hidden_dim": 4, "scaling.workers": 0,
        "batch.videos": 2, "batch.clips_per_video": 1, "training.max_steps": 1, "optimizer.learning_rate": 1e-30,
        "seed": 9,
    }  # fmt: skip
    config = with_inputs(override(preset("capsule-howto-tiny"), still), clips)
    out = tmp_path / "run"
    train(config, TrainFlags(data=clips.uri, out=str(out), init=capsules.uri))
    weights, given = load_model(str(out)).model.state_dict(), capsules.model.state_dict()
    for name in dict(load_model(str(out)).model.named_parameters()):
        assert torch.allclose(weights[name], given[name], atol=1e-6), name
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    (told,) = [event for event in events if event["event"] == "initialised"]
    assert told["model"] == capsules.uri
    assert told["tensors"] == f"{len(given)} of {len(given)} tensors taken"
    assert json.loads((out / "run.json").read_text())["init"] == capsules.uri


def test_a_run_that_cannot_begin_so_leaves_nothing(dual: LoadedModel, clips: Manifest, tmp_path: Path) -> None:
    config = override(preset("capsule-howto-tiny"), {"scaling.workers": 0, "batch.videos": 2})
    with pytest.raises(CheckpointError, match="no tensor of"):
        train(config, TrainFlags(data=clips.uri, out=str(tmp_path / "run"), init=dual.uri))
    assert not (tmp_path / "run").exists()
