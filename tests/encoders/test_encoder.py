"""Names of encoders, and the recipes of what they store."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import vtr_core
from tests.builders import pretrained
from vtr_core.backbones import swin
from vtr_core.backbones.recipes import recipe
from vtr_core.encoders.bundled import MINILM, BundledEncoder, class_names, class_vectors
from vtr_core.encoders.encoder import encoder, frames_recipe
from vtr_core.encoders.frozen_text import SentenceEncoder
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.extraction.features import choose


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no encoder 'bundle'; did you mean bundled\? \(vtr encoders lists them\)"):
        encoder("bundle")
    with pytest.raises(ConfigError, match="no encoder 'howto-2b'; did you mean howto-2d"):
        encoder("howto-2b")
    with pytest.raises(ConfigError, match=r"no encoder 'hf:'; "):
        encoder("hf:")


def test_a_recipe_has_frames_and_no_text() -> None:
    made = encoder("imagenet-lite")
    frames = np.random.default_rng(0).integers(0, 256, (3, 300, 260, 3), np.uint8)
    rows = made.encode_rows(made.prepare(frames))
    (chosen,) = choose(["imagenet-lite"], {})
    np.testing.assert_array_equal(rows, chosen.recipe.load(chosen.weights, "cpu")(made.prepare(frames)))
    expected = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(made.encode_frames(frames), expected, atol=1e-6)
    assert made.fingerprint == chosen.settings()["fingerprint"]
    with pytest.raises(ConfigError, match=r"imagenet-lite encodes frames alone, and no text \(1 given\)"):
        made.encode_text(["a"])
    with pytest.raises(ConfigError, match="log-mel is a recipe of sound, and takes no frames"):
        encoder("log-mel")


def test_weights_of_recipes_are_found_by_name_below_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Video Swin takes as many frames as it sees; weights of another hash than the published are refused."""
    monkeypatch.setenv("VTR_WEIGHTS", str(tmp_path))
    with pytest.raises(
        ConfigError, match=r"the weights of video-swin are not here: .* or put it into a folder that VTR_"
    ):
        encoder("video-swin")
    file = tmp_path / "deep" / "swin_base_patch244_window877_kinetics600_22k.pth"
    file.parent.mkdir()
    file.touch()
    monkeypatch.setattr(swin, "load", lambda weights, device: lambda values: np.full((784, 1024), len(weights)))
    made = encoder("video-swin")
    assert made.encode_rows(np.zeros((32, 224, 224, 3), np.uint8))[0, 0] == len(str(file))
    with pytest.raises(ConfigError, match="takes 32 frames in equal steps of a video, not 4"):
        made.encode_rows(np.zeros((4, 224, 224, 3), np.uint8))
    (tmp_path / "resnet152-b121ed2d.pth").write_bytes(b"other")
    with pytest.raises(CheckpointError, match=r"is not the published resnet152-b121ed2d\.pth"):
        encoder("howto-2d")


def test_an_extraction_records_an_encoder_and_every_machine_loads_it_by_name(tmp_path: Path) -> None:
    pretrained.save_clip(tmp_path / "clip")
    name = f"hf:{tmp_path / 'clip'}"
    made = encoder(name)
    (chosen,) = choose([name], {})
    settings = chosen.settings()
    assert (settings["name"], settings["fingerprint"], settings["dim"]) == (name, made.fingerprint, 24)
    assert chosen.recipe.feature.isidentifier()
    assert "/" not in chosen.recipe.folder
    sent = pickle.loads(pickle.dumps(chosen))
    pictures = made.prepare(np.random.default_rng(0).integers(0, 256, (3, 40, 60, 3), np.uint8))
    rows = sent.recipe.load(None, "cpu")(pictures)
    np.testing.assert_array_equal(rows, made.encode_rows(pictures))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_a_machine_with_other_weights_under_that_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vtr_core.encoders import encoder as module

    pretrained.save_clip(tmp_path / "clip")
    (chosen,) = choose([f"hf:{tmp_path / 'clip'}"], {})
    pretrained.save_clip(tmp_path / "clip", seed=1)
    module._loaded.cache_clear()
    with pytest.raises(CheckpointError, match=r"on this machine, and .* where the command was given"):
        chosen.recipe.load(None, "cpu")


def test_tokens_of_an_encoder_are_a_recipe(tmp_path: Path) -> None:
    pretrained.save_clip(tmp_path / "clip")
    made = frames_recipe(f"tokens:hf:{tmp_path / 'clip'}")
    assert (made.dim, made.most_rows, made.rows_per_second) == (50 * 24, 12, 1.0)
    clip = encoder(f"hf:{tmp_path / 'clip'}")
    pictures = clip.prepare(np.random.default_rng(0).integers(0, 256, (2, 40, 60, 3), np.uint8))
    np.testing.assert_array_equal(made.load(None, "cpu")(pictures), clip.encode_patches(pictures).reshape(2, -1))
    assert made.fingerprint != clip.fingerprint


def test_bundled_is_a_recipe_with_pinned_weights() -> None:
    """Whatever file a command names, and the features are those of imagenet-lite."""
    (bundled,) = choose(["bundled"], {})
    assert bundled.settings()["fingerprint"] == vtr_core.encoder("bundled").fingerprint
    pictures = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), np.uint8)
    (lite,) = choose(["imagenet-lite"], {})
    rows = bundled.recipe.load(bundled.weights, "cpu")(pictures)
    np.testing.assert_array_equal(rows, recipe("imagenet-lite").load(lite.weights, "cpu")(pictures))
    with pytest.raises(ConfigError, match="bundled is an encoder, which names its weights itself"):
        choose(["bundled"], {"bundled": "f"})


def test_the_stored_vectors_of_class_names_are_minilms() -> None:
    """In half precision; frames and their head need no MiniLM, which is loaded by the first text."""
    made = BundledEncoder("", "cpu")
    made.head()
    assert "_sentences" not in vars(made)
    some = slice(None, None, 97)
    names = [name.split(" (")[0] for name in class_names()[some]]
    sentences = SentenceEncoder(str(MINILM.find().parent), "cpu")
    np.testing.assert_allclose(class_vectors()[some], sentences.encode_text(names), atol=2e-4)
    assert (made.dim, made.token_dim) == (sentences.dim, sentences.token_dim)
