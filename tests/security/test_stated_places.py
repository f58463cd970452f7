"""What a file names is opened where the user could have meant it, and nowhere else."""

import pytest
from torch import nn

from pipelines.systems.registry import SYSTEMS
from pipelines.systems.siamese import face_verification
from vtr_core.encoders.encoder import encoder
from vtr_core.run.presets import preset
from vtr_core.storage import StorageError
from vtr_core.storage.stated_places import stated_by, stated_place
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import Progress
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
