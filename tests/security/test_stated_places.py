"""What a file names is opened where the user could have meant it, and nowhere else."""

import pytest
from torch import nn

from pipelines.systems.registry import SYSTEMS
from pipelines.systems.siamese import face_verification
from vtr_core.encoders.encoder import encoder
from vtr_core.errors import ConfigError
from vtr_core.run.presets import preset
from vtr_core.storage import StorageError
from vtr_core.storage.stated_places import stated_by, stated_place
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.tracking.store import full_tracking_uri
from vtr_core.train.checkpoint.checkpoint_files import Progress
from vtr_core.train.checkpoint.run_folder import resumed_places
from vtr_core.train.checkpoint.trained_model import LoadedModel

OWN = "s3://films/index?endpoint_override=minio:9000&scheme=http"


@pytest.mark.parametrize(
    "place",
    [
        "gs://b/d?endpoint_override=127.0.0.1:9&scheme=http",
        "s3://films/data",
        "s3://other/data?endpoint_override=127.0.0.1:9",
        "hub:somebody/model",
        "file://host/share",
        "hdfs://namenode/data",
        "http://127.0.0.1/x",
    ],
)
def test_places_elsewhere_are_to_be_named_by_the_user(place: str) -> None:
    with pytest.raises(StorageError, match="name it with --data") as error:
        stated_place(place, "/home/me/index", "--data")
    assert "endpoint_override" not in str(error.value)


def test_paths_of_this_machine_and_the_users_own_bucket_are_opened() -> None:
    for place in ("data/test", "/data/test", "file:///data/test", "encoder:bundled", "models:/vtr@champion"):
        assert stated_place(place, "/home/me/index", "--data") == place
    assert stated_place("s3://films/data?endpoint_override=evil:80", OWN, "--data") == (
        "s3://films/data?endpoint_override=minio:9000&scheme=http"
    )
    with pytest.raises(StorageError, match="names s3://other/data, which"):
        stated_place("s3://other/data", OWN, "--data")


@pytest.mark.parametrize("name", ["hf:somebody/model", "st:somebody/model"])
def test_an_encoder_that_a_file_names_is_not_fetched(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked = []

    def snapshot(place: str, **options: object) -> str:
        if not options.get("local_files_only"):
            asked.append(place)
        raise FileNotFoundError(place)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    with stated_by("/tmp/index"), pytest.raises(StorageError, match="hf download somebody/model"):
        encoder(name)
    assert asked == []
    with pytest.raises(Exception, match="the hub does not give it"):
        encoder(name)
    assert asked == ["somebody/model"]


def test_a_checkpoints_word_opens_no_other_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`vtr evaluate --task verification` looks for the training data, whose place stands in the checkpoint."""
    opened: list[str] = []
    monkeypatch.setattr(face_verification.Manifest, "load", opened.append)
    place = "gs://b/d?endpoint_override=127.0.0.1:9&scheme=http"
    loaded = LoadedModel(
        model=nn.Identity(),
        config=preset("siamese-att-tiny"),
        vocabulary=Vocabulary.utf8(),
        provenance={"data": place, "data.fingerprint": "x"},
        progress=Progress(),
        uri="/tmp/run",
        systems=SYSTEMS,
    )
    face_verification._require_unseen(loaded, [])
    assert opened == []
    assert "not checked" in capsys.readouterr().out


@pytest.mark.parametrize(
    "place",
    [
        "s3://films/data?endpoint_override=127.0.0.1:9&scheme=http",
        "s3://films/data?anonymous=true",
        "s3://films/data?region=x@127.0.0.1",
        "gs://b/d?endpoint_override=127.0.0.1:9",
        "hdfs://127.0.0.1:9/data",
        "hub:somebody/model",
        "data/a + s3://films/data?endpoint_override=127.0.0.1:9",
    ],
)
@pytest.mark.parametrize("flag", ["data", "validation", "concepts"])
def test_a_run_goes_on_with_no_store_of_its_folders_own(place: str, flag: str) -> None:
    with pytest.raises(StorageError, match=f"name it with --{flag}") as error:
        resumed_places({flag: place}, {}, "/home/me/runs/x")
    assert "endpoint_override" not in str(error.value)
    assert resumed_places({flag: place}, {flag: "s3://own"}, "/home/me/runs/x") == {flag: "s3://own"}


def test_a_run_goes_on_with_paths_and_with_buckets_of_the_users_endpoint() -> None:
    stated = {"data": "2 * s3://films/a + data/b", "validation": "s3://films/val", "concepts": None, "init": "runs/y"}
    assert resumed_places(stated, {}, "runs/x") == stated
    own = "s3://films/run?endpoint_override=minio:9000"
    assert resumed_places({"data": "s3://films/a?endpoint_override=evil:80"}, {}, own) == {
        "data": "s3://films/a?endpoint_override=minio:9000"
    }
    again = {"data": "s3://films/a?scheme=http + data/b"}
    assert resumed_places({"data": "2 * s3://films/a?scheme=http + data/b"}, again, "runs/x") == {
        "data": "2 * s3://films/a?scheme=http + data/b"
    }


def test_a_run_folder_names_no_server_that_tokens_are_sent_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mine:5000")
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "secret")
    assert full_tracking_uri("http://mine:5000") == "http://mine:5000"
    assert full_tracking_uri("sqlite:////tmp/mlflow.db") == "sqlite:////tmp/mlflow.db"
    for uri in ("http://127.0.0.1:9", "https://evil", "databricks://profile", "postgresql://h/db"):
        with pytest.raises(ConfigError, match="set it to the run's store"):
            full_tracking_uri(uri)
