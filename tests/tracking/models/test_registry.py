"""A registered checkpoint loads through MLflow alone, anywhere, and embeds what the checkpoint itself embeds."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import mlflow.pyfunc
import numpy as np
import pandas as pd
import pytest
import torch

import vtr_core
from tests.builders.toy import toy_dataset
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.shards.word_table import WordTable
from vtr_core.embedding.embedded_rows import EmbeddedRows, embed
from vtr_core.errors import CheckpointError, ConfigError, InputError
from vtr_core.run.build import build_model
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.all import SYSTEMS
from vtr_core.tracking.models.registry import (
    check_model_name,
    load_pyfunc,
    model_name,
    register_checkpoint,
    registered_checkpoint,
)
from vtr_core.tracking.run import Point, TrackedRun, open_run
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.checkpoint_files import MARKER, Checkpoint, Progress, save_checkpoint

SMALL = {"model.num_capsules": 2, "model.embedding_dim": 4, "model.words.hidden_dim": 4, "model.standardize": False}
NAME = model_name("capsule-howto-tiny")


@pytest.fixture
def data(tmp_path: Path) -> Manifest:
    return toy_dataset(tmp_path / "data")[0]


@pytest.fixture
def checkpoint(data: Manifest, tmp_path: Path) -> str:
    return saved(data, tmp_path / "run" / "checkpoints" / "step-00000007", seed=0)


def saved(data: Manifest, place: Path, seed: int) -> str:
    torch.manual_seed(seed)
    config = with_inputs(override(preset("capsule-howto-tiny"), SMALL), data)
    model = build_model(config.model)
    words = WordTable.load(data).vocabulary
    save_checkpoint(locate(place), Checkpoint(config, model.state_dict(), {}, Progress(step=7), words))
    return str(place)


@pytest.fixture
def run(tmp_path: Path, empty_tracking_store: Path, monkeypatch: pytest.MonkeyPatch) -> TrackedRun:
    (tmp_path / "store").mkdir()
    uri = f"sqlite:///{shutil.copy(empty_tracking_store, tmp_path / 'store')}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    found = open_run(uri, "vtr", "a run", {})
    assert found is not None
    return found


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal up to what the size of a batch does to float32 sums."""
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def embedded(checkpoint: str, data: Manifest) -> EmbeddedRows:
    loaded = load_model(checkpoint)
    features = loaded.config.model.inputs.features
    return embed(loaded.model, features, data, loaded.vocabulary, row_groups(data), 64)


def table(data: Manifest) -> pd.DataFrame:
    """The data set's rows as anyone would write them; every third clip has audio (tests.builders.toy)."""
    rows = [(f"video number{v}", [v, c, v + c], [c, 1] if c % 3 == 0 else None) for v, c in clips(data)]
    return pd.DataFrame(
        {
            "caption": [row[0] for row in rows],
            "video": [np.array(row[1], np.float32) for row in rows],
            "audio": [None if row[2] is None else [float(x) for x in row[2]] for row in rows],
        },
        index=[f"v{v}:{c}" for v, c in clips(data)],
    )


def clips(data: Manifest) -> list[tuple[int, int]]:
    import pyarrow.parquet as pq

    ids = [
        name
        for place in sorted(Path(data.uri).glob("*.parquet"))
        for name in pq.read_table(place, columns=["clip_id"])["clip_id"].to_pylist()
    ]
    return [(int(name[1:].split(":")[0]), int(name.split(":")[1])) for name in ids]


LOADS = """
import sys
import mlflow.pyfunc, numpy as np, pandas
model = mlflow.pyfunc.load_model(sys.argv[1])
rows = pandas.read_json(sys.argv[2], orient="split")
out = model.predict(rows)
np.savez(sys.argv[3], **{name: np.array([np.zeros(4) if v is None else v for v in out[name]]) for name in out})
"""


@pytest.mark.long
def test_another_process_loads_it_by_its_alias_and_embeds_the_same(
    data: Manifest, checkpoint: str, run: TrackedRun, tmp_path: Path
) -> None:
    expected = embedded(checkpoint, data)
    assert register_checkpoint(run, checkpoint, NAME, SYSTEMS) == "1"
    (tmp_path / "run").rename(tmp_path / "gone")  # the model has its own copy
    table(data).to_json(tmp_path / "rows.json", orient="split")
    words = [sys.executable, "-c", LOADS, f"models:/{NAME}@champion", str(tmp_path / "rows.json"), "out.npz"]
    subprocess.run(words, check=True, cwd=tmp_path, capture_output=True)
    found = np.load(tmp_path / "out.npz")
    assert set(found) == {"text", "video", "audio"}
    for name, vectors in expected.vectors.items():
        assert np.abs(vectors).max() > 0
        close(found[name], vectors)


def test_a_table_may_have_some_columns_and_lack_values(data: Manifest, checkpoint: str, run: TrackedRun) -> None:
    register_checkpoint(run, checkpoint, NAME, SYSTEMS)
    model = mlflow.pyfunc.load_model(f"models:/{NAME}/1")
    expected = embedded(checkpoint, data)
    rows = table(data)
    video = model.predict(rows[["video"]])
    assert list(video.columns) == ["video"]
    assert list(video.index) == list(rows.index)
    close(np.stack(video["video"].to_list()), expected.vectors["video"])
    audio = model.predict(rows[["audio"]])["audio"]
    assert [value is not None for value in audio] == expected.present["audio"].tolist()
    texts = model.predict(pd.DataFrame({"caption": [rows["caption"].iloc[0], "qwertz", None]}))["text"]
    close(texts[0], expected.vectors["text"][0])
    assert texts[0].dtype == np.float32
    assert texts[1] is None
    assert texts[2] is None
    assert model.predict(rows.iloc[:0]).empty
    with pytest.raises(InputError, match=r"row 0, column video has the shape \(2,\), the model was trained on .* of 3"):
        model.predict(pd.DataFrame({"video": [[1.0, 2.0]]}))
    with pytest.raises(InputError, match=r"columns \(none\); the model embeds a column caption of texts and vectors"):
        model.predict(pd.DataFrame({"title": ["a man cooks"]}))


def test_it_has_a_signature_an_example_that_works_and_no_pickle(
    data: Manifest, checkpoint: str, run: TrackedRun, tmp_path: Path
) -> None:
    register_checkpoint(run, checkpoint, NAME, SYSTEMS)
    model = mlflow.pyfunc.load_model(f"models:/{NAME}@champion")
    inputs, outputs = model.metadata.signature.inputs, model.metadata.signature.outputs
    assert inputs.input_names() == ["caption", "video", "audio"]
    assert inputs.required_input_names() == []
    assert outputs.input_names() == ["text", "video", "audio"]
    out = model.predict(model.input_example)
    assert len(out["video"].iloc[0]) == SMALL["model.embedding_dim"]
    files = {file.name for file in (tmp_path / "store").rglob("*") if file.is_file()}
    assert {"model.safetensors", "MLmodel", "requirements.txt", "input_example.json"} <= files
    assert not {name for name in files if name.endswith((".pkl", ".pt", ".pickle"))}


def test_the_alias_moves_and_a_checkpoint_is_registered_once(
    data: Manifest, checkpoint: str, run: TrackedRun, tmp_path: Path
) -> None:
    other = saved(data, tmp_path / "run" / "checkpoints" / "step-00000008", seed=1)
    run.log_checkpoint("capsule-howto-tiny", checkpoint, [Point("val/t2v/r1", 12.5, 7, 1)], 7)
    assert register_checkpoint(run, checkpoint, NAME, SYSTEMS) == "1"
    assert register_checkpoint(run, other, NAME, SYSTEMS) == "2"
    assert register_checkpoint(run, checkpoint, NAME, SYSTEMS, alias="first") == "1"
    client = run.client
    assert {name: str(version) for name, version in client.get_registered_model(NAME).aliases.items()} == {
        "champion": "2",
        "first": "1",
    }
    assert register_checkpoint(run, checkpoint, NAME, SYSTEMS) == "1"
    assert str(client.get_model_version_by_alias(NAME, "champion").version) == "1"
    with registered_checkpoint(f"models:/{NAME}@champion") as found:
        assert found.uri == f"models:/{NAME}/1"
    version = client.get_model_version(NAME, "1")
    assert (version.run_id, version.tags["checkpoint"]) == (run.run_id, checkpoint)
    assert version.tags["code.version"] == vtr_core.__version__
    code = f"the code of vtr {vtr_core.__version__}, which loads it"
    assert code in str(version.description)
    assert str(version.description).endswith("| t2v/r1 | 12.5 |")
    logged = client.search_logged_models([client.get_run(run.run_id).info.experiment_id])
    assert len(logged) == 2  # the checkpoint that was named before is the model that was registered
    (model,) = [one for one in logged if one.tags["uri"] == checkpoint]
    assert [(m.key, m.value) for m in model.metrics] == [("val/t2v/r1", 12.5)]
    assert json.loads(model.tags["mlflow.modelVersions"]) == [{"name": NAME, "version": 1}]
    assert "mlflow.model.isExternal" not in model.tags


def test_a_version_that_carries_no_code_is_registered_anew(checkpoint: str, run: TrackedRun) -> None:
    register_checkpoint(run, checkpoint, NAME, SYSTEMS)
    run.client.delete_model_version_tag(NAME, "1", "code.fingerprint")
    assert register_checkpoint(run, checkpoint, NAME, SYSTEMS) == "2"
    assert register_checkpoint(run, checkpoint, NAME, SYSTEMS) == "2"
    assert mlflow.pyfunc.load_model(f"models:/{NAME}@champion").metadata.flavors["python_function"]["code"] == "code"
    assert register_checkpoint(run, checkpoint, "another", SYSTEMS) == "1"


@pytest.mark.parametrize("place", ["code/vtr_core/train/served_model.py", "code/pandas.py", "MLmodel"])
def test_a_model_whose_code_was_changed_is_not_run(
    place: str, checkpoint: str, run: TrackedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even what its files put before other modules, or name as the loader."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    register_checkpoint(run, checkpoint, NAME, SYSTEMS)
    uri, ran = f"models:/{NAME}@champion", tmp_path / "ran"
    loaded = load_pyfunc(uri)
    assert set(loaded.predict(loaded.input_example)) == {"text", "video", "audio"}
    (made,) = (tmp_path / "store").rglob("MLmodel")
    text = (made.parent / place).read_text() if (made.parent / place).exists() else ""
    attack = f"open({str(ran)!r}, 'w')\n"
    if place == "MLmodel":
        (made.parent / "code" / "evil.py").write_text(attack)
        (made.parent / place).write_text(text.replace("vtr_core.train.served_model", "evil"))
    else:
        (made.parent / place).write_text(attack + text)
    with pytest.raises(CheckpointError, match="other code than the one that was registered"):
        load_pyfunc(uri)
    assert not ran.exists()


def test_it_is_a_checkpoint_wherever_one_is_asked_for(data: Manifest, checkpoint: str, run: TrackedRun) -> None:
    register_checkpoint(run, checkpoint, NAME, SYSTEMS)
    for uri in (f"models:/{NAME}@champion", f"models:/{NAME}/1"):
        loaded, original = load_model(uri), load_model(checkpoint)
        assert loaded.uri == f"models:/{NAME}/1"
        assert (loaded.config, loaded.vocabulary, loaded.progress) == (
            original.config,
            original.vocabulary,
            original.progress,
        )
        for name, value in original.model.state_dict().items():
            assert torch.equal(loaded.model.state_dict()[name], value)


def test_what_is_not_there_is_named(checkpoint: str, run: TrackedRun) -> None:
    register_checkpoint(run, checkpoint, NAME, SYSTEMS)
    for uri, message in (
        (f"models:/{NAME}@none", f"models:/{NAME}@none: MLflow at .* says: Registered model alias none not found"),
        (f"models:/{NAME}/9", "version=9.* not found"),
        ("models:/other@champion", "models:/other@champion: MLflow at .* says: .*not found"),
        (f"models:/{NAME}", "names no registered model; give models:/NAME@ALIAS or models:/NAME/VERSION"),
        (f"models:/{NAME}/latest", "names no registered model"),
    ):
        with pytest.raises(CheckpointError, match=message):
            load_model(uri)


def test_a_store_that_is_away_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://user:hidden@127.0.0.1:9")
    with pytest.raises(CheckpointError, match=r"MLflow at http://user:\*\*\*@127\.0\.0\.1:9") as caught:
        load_model("models:/m@champion")
    assert "hidden" not in str(caught.value)


def test_what_was_changed_afterwards_is_refused(
    data: Manifest, checkpoint: str, run: TrackedRun, tmp_path: Path
) -> None:
    register_checkpoint(run, checkpoint, NAME, SYSTEMS)
    (marker,) = (tmp_path / "store").rglob(MARKER)
    text = marker.read_text()
    marker.write_text(text.replace('"version": 2', '"version":  2'))
    with pytest.raises(CheckpointError, match="is not the checkpoint that was registered"):
        load_model(f"models:/{NAME}@champion")
    marker.write_text(text)
    (weights,) = (tmp_path / "store").rglob("model.safetensors")
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x00\x00")
    with pytest.raises(CheckpointError, match="is damaged"):
        load_model(f"models:/{NAME}@champion")


def test_an_incomplete_or_damaged_checkpoint_is_not_registered(checkpoint: str, run: TrackedRun) -> None:
    with pytest.raises(CheckpointError, match="is not a complete checkpoint"):
        register_checkpoint(run, str(Path(checkpoint).parent), NAME, SYSTEMS)
    weights = Path(checkpoint) / "model.safetensors"
    weights.write_bytes(weights.read_bytes() + b"x")
    with pytest.raises(CheckpointError, match="is damaged"):
        register_checkpoint(run, checkpoint, NAME, SYSTEMS)
    assert run.client.search_registered_models() == []


@pytest.mark.parametrize("name", ["a/b", "a:b", "a@b", "", " ", "a'b", "a\nb"])
def test_a_name_that_a_uri_could_not_hold_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="a model cannot be called"):
        check_model_name(name)
