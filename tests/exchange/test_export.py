"""`vtr export`: the folder is the same model and tells nothing of the machine, nor its card."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

import vtr_core
from pipelines.cli import run
from tests.builders.dual_checkpoints import captioner_checkpoint, dual_checkpoint
from tests.builders.toy import toy_videos
from vtr_core.data.manifest import Manifest
from vtr_core.embedding.embedded_rows import model_fingerprint
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.exchange import model_card, public_provenance, without_places
from vtr_core.train.checkpoint import load_model


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return toy_videos(tmp_path_factory.mktemp("videos"), (3, 1, 4, 0, 5, 2))


@pytest.fixture(scope="module")
def checkpoint(videos: Manifest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return dual_checkpoint(tmp_path_factory.mktemp("dual"), videos)


@pytest.fixture(scope="module")
def exported(checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("exported") / "model"
    run("export", [checkpoint, "--to", str(place), "--licence", "apache-2.0"])
    return place


def test_the_folder_is_the_same_model(exported: Path, checkpoint: str) -> None:
    there, here = load_model(str(exported)), load_model(checkpoint)
    assert model_fingerprint(there.model) == model_fingerprint(here.model)
    assert (there.config, there.vocabulary, there.concepts) == (here.config, here.vocabulary, here.concepts)
    model = vtr_core.load(exported, "cpu")
    assert model.encode_text("video number1").known.all()
    assert not (exported / "optimizer.pt").exists()


def test_the_card_says_what_the_model_is(exported: Path) -> None:
    card = (exported / "README.md").read_text()
    fields = yaml.safe_load(card.split("---")[1])
    assert (fields["license"], fields["library_name"]) == ("apache-2.0", "vtr-ray")
    code = re.search(r"```python\n(.*?)```", card, re.DOTALL)
    assert code is not None
    compile(code[1], "card", "exec")


def test_nothing_of_the_machine_is_told(exported: Path, checkpoint: str, videos: Manifest) -> None:
    text = "".join(file.read_text() for file in exported.iterdir() if file.suffix in (".json", ".md"))
    assert checkpoint not in text
    assert videos.uri not in text
    told = {
        "machine": "m", "git.commit": "c", "git.branch": "b", "version.torch": "2", "mlflow.run_id": "r",
        "data": "/home/me/data", "data.fingerprint": "f", "ray.submission_id": "s", "init": "/home/me/run",
    }  # fmt: skip
    assert public_provenance(told).keys() == {"git.commit", "version.torch", "data.fingerprint"}


def test_places_are_cut_to_what_a_stranger_needs() -> None:
    config = {
        "text": {"name": "hf:/home/me/models/clip", "weights": "~/x.safetensors", "layers": 2},
        "other": ["st:./mine", "file:///home/me/w.pt", "s3://private/a/b?endpoint_override=h", "/home/me/"],
        "known": ["hf:openai/clip", "bundled", "val/t2v/sum_r", "open_clip:ViT-B-32/laion", None, 0.5],
    }
    assert without_places(config) == {
        "text": {"name": "hf:clip", "weights": "x.safetensors", "layers": 2},
        "other": ["st:mine", "w.pt", "b", "me"],
        "known": config["known"],
    }


def test_a_card_is_text_and_not_markup(checkpoint: str) -> None:
    loaded = load_model(checkpoint)
    assert "not stated; ask before you use them" in model_card(loaded, None)
    card = model_card(loaded, "<script>alert(1)</script> [x](http://y)\n---")
    below = card.split("\n---\n", 1)[1]
    assert "<script>" not in below
    assert "[x](" not in below


def test_a_folder_that_holds_something_is_left_alone(exported: Path, checkpoint: str) -> None:
    with pytest.raises(ConfigError, match="is not empty; export to a new folder"):
        run("export", [checkpoint, "--to", str(exported)])


def test_damage_is_found(exported: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(exported, tmp_path / "copy")
    value = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**value, "seed": 5}))
    with pytest.raises(CheckpointError, match=r"config\.json is damaged"):
        vtr_core.load(copy)


def test_a_captioner_is_exported_with_what_it_is_for(
    videos: Manifest, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It loads, captions and is evaluated; nothing of search is promised."""
    monkeypatch.chdir(tmp_path)
    run("export", [captioner_checkpoint(tmp_path / "made", videos), "--to", "my captioner"])
    command = "vtr evaluate 'my captioner' --task captioning --data URI"
    assert capsys.readouterr().out.splitlines()[-1] == f"next        {command}"
    card = (tmp_path / "my captioner" / "README.md").read_text()
    assert "`vtr evaluate FOLDER --task captioning --data URI`" in card
    assert "encode_text" not in card
    with pytest.raises(ConfigError, match="vtr evaluate --task captioning and vtr caption"):
        vtr_core.load("my captioner", "cpu").encode_text("a dog")
    run("caption", ["my captioner", "--data", videos.uri, "--out", "captions"])
    run("evaluate", ["my captioner", "--task", "captioning", "--data", videos.uri, "--out", "figures.json"])
    assert json.loads((tmp_path / "figures.json").read_text())
    assert len((tmp_path / "captions" / "captions.jsonl").read_text().splitlines()) == videos.videos
