"""Tokens of frames and vectors of captions by open_clip's models: a tiny one always, the real ones where installed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import layer_norm

from tests.data.sources.tiny_clip import DIM, GRID, SIZE, TinyClip, tiny_tokenizer
from vtr_core.data.sources.clip import open_clip_loading
from vtr_core.data.sources.clip.backbone import ClipBackbone
from vtr_core.data.sources.clip.open_clip_backbone import OPENAI, OpenClipBackbone
from vtr_core.data.sources.clip.open_clip_loading import load_backbone
from vtr_core.errors import ConfigError, InputError

IMAGES = np.random.default_rng(0).random((4, 3, SIZE, SIZE)).astype(np.float32)


def pixels(images: np.ndarray) -> torch.Tensor:
    mean, std = (np.array(values, np.float32).reshape(1, 3, 1, 1) for values in (OPENAI.mean, OPENAI.std))
    return torch.from_numpy((images - mean) / std)


def by_hand(visual: Any, hidden: torch.Tensor) -> np.ndarray:
    """Every token for itself through the LayerNorm and the projection."""
    norm = visual.ln_post
    frames = []
    for frame in hidden:
        rows = [layer_norm(token, norm.normalized_shape, norm.weight, norm.bias, norm.eps) for token in frame]
        frames.append(torch.stack([visual.proj.T @ row for row in rows]))
    return torch.stack(frames).detach().numpy()


def test_every_token_is_normed_and_projected() -> None:
    model = TinyClip()
    backbone = OpenClipBackbone(model, tiny_tokenizer)
    assert isinstance(backbone, ClipBackbone)
    assert (backbone.dim, backbone.grid, backbone.image_size) == (DIM, GRID, SIZE)
    tokens = backbone.tokens(IMAGES)
    assert tokens.shape == (4, 1 + GRID**2, DIM)
    np.testing.assert_allclose(tokens, by_hand(model.visual, model.visual.hidden(pixels(IMAGES))), atol=1e-5)
    model.visual.output_tokens = False
    np.testing.assert_allclose(tokens[:, 0], model.visual(pixels(IMAGES)).detach().numpy(), atol=1e-5)


def test_captions_are_not_normalised() -> None:
    model = TinyClip()
    vectors = OpenClipBackbone(model, tiny_tokenizer).captions(["a bird flies", "two"])
    expected = model.words.weight[[1, 3]] + model.words.weight[[4, 0]]
    np.testing.assert_allclose(vectors, expected.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("proj", None, "no vision transformer with a projection"),
        ("pool_type", "avg", "pools its patches"),
        ("final_ln_after_pool", True, "pools its patches"),
        ("image_size", (SIZE, 24), "of square images"),
    ],
)
def test_models_without_projected_patches_are_refused(name: str, value: object, message: str) -> None:
    model = TinyClip()
    setattr(model.visual, name, value)
    with pytest.raises(ConfigError, match=message):
        OpenClipBackbone(model, tiny_tokenizer)


def test_other_networks_are_refused() -> None:
    model = TinyClip()
    model.visual = torch.nn.Linear(2, 2)
    with pytest.raises(ConfigError, match="Linear is no vision transformer"):
        OpenClipBackbone(model, tiny_tokenizer)


@pytest.fixture
def open_clip() -> Any:
    try:
        import open_clip
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"open_clip cannot be imported ({error}): install the extra `clip`, torchvision of torch's build")
    return open_clip


def test_a_missing_package_is_told_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "open_clip", None)
    with pytest.raises(ConfigError, match=r"install the extra: .*vtr-ray\[clip\]"):
        load_backbone("ViT-B-32", "openai", "cpu")


@pytest.fixture
def tiny(open_clip: Any, tmp_path: Path) -> str:
    """A small model of open_clip's own."""
    config = {
        "embed_dim": DIM,
        "vision_cfg": {"image_size": 24, "layers": 2, "width": 64, "patch_size": 8},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
    }
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "vtr-tiny.json").write_text(json.dumps(config))
    open_clip.add_model_config(tmp_path / "configs")
    return "vtr-tiny"


def test_a_model_of_open_clip_with_weights_from_a_file(
    open_clip: Any, tiny: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from safetensors.torch import save_file

    torch.manual_seed(1)
    model = open_clip.create_model(tiny, load_weights=False).eval()
    save_file(model.state_dict(), tmp_path / "weights.safetensors")
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    images = np.random.default_rng(1).random((2, 3, 24, 24)).astype(np.float32)
    captions = ["a man cooks rice", "two people play chess"]
    hidden = model.visual.transformer(model.visual._embeds(pixels(images)))
    caplog.clear()
    for file in ("weights.safetensors", "weights.pt"):
        backbone = load_backbone(tiny, str(tmp_path / file), "cpu")
        assert (backbone.dim, backbone.grid, backbone.image_size) == (DIM, 3, 24)
        tokens = backbone.tokens(images)
        np.testing.assert_allclose(tokens, by_hand(model.visual, hidden), atol=1e-5)
        np.testing.assert_allclose(tokens[:, 0], model.encode_image(pixels(images)).detach().numpy(), atol=1e-5)
        texts = model.encode_text(open_clip.get_tokenizer("ViT-B-32")(captions)).detach().numpy()
        np.testing.assert_allclose(backbone.captions(captions), texts, atol=1e-5)
    assert "initialized randomly" not in caplog.text


def test_weights_that_are_not_here_are_told_and_nothing_is_downloaded(
    open_clip: Any, tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(open_clip_loading, "_candidates", lambda *given: [tmp_path / "none"])
    with pytest.raises(InputError, match=r"not on this machine, and nothing is downloaded .*hf download timm/vit_base"):
        load_backbone("ViT-B-32", "openai", "cpu")
    with pytest.raises(InputError, match="there are no weights"):
        load_backbone(tiny, str(tmp_path / "none.safetensors"), "cpu")
    with pytest.raises(ConfigError, match="knows no weights 'nothing' of ViT-B-32; known are openai, "):
        load_backbone("ViT-B-32", "nothing", "cpu")
    with pytest.raises(ConfigError, match="no model 'ViT-B32'; did you mean ViT-B-32"):
        load_backbone("ViT-B32", "openai", "cpu")
    with pytest.raises(ConfigError, match="reads words with another library's files"):
        load_backbone("ViT-B-16-SigLIP", "webli", "cpu")


def test_files_that_are_no_weights_of_the_model_are_refused(open_clip: Any, tiny: str, tmp_path: Path) -> None:
    for name, content in (("a.safetensors", b"?"), ("a.pt", b"?"), ("b.pt", b"\x80\x04N.")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match="holds no weights of vtr-tiny that can be read safely"):
            load_backbone(tiny, str(tmp_path / name), "cpu")
    torch.save({"other": torch.zeros(1)}, tmp_path / "c.pt")
    with pytest.raises(InputError, match="holds no weights of vtr-tiny"):
        load_backbone(tiny, str(tmp_path / "c.pt"), "cpu")


def test_frames_are_prepared_as_by_open_clip(open_clip: Any, tmp_path: Path) -> None:
    from PIL import Image

    from vtr_core.data.sources.clip.video_images import read_images
    from vtr_core.storage import locate

    for width, height in ((40, 30), (31, 57), (24, 24), (11, 7)):
        values = np.random.default_rng(width).integers(0, 256, (height, width, 3), np.uint8)
        Image.fromarray(values).save(tmp_path / "a.png")
        expected = open_clip.image_transform(24, is_train=False)(Image.open(tmp_path / "a.png")).numpy()
        found = pixels(read_images(locate(str(tmp_path)), ["a.png"], 24))[0].numpy()
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_known_weights_are_found_in_the_cache(open_clip: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where open_clip's own download puts them, and with what they want of a model."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    place = tmp_path / "models--timm--vit_base_patch32_clip_224.openai"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("0123")
    file = place / "snapshots" / "0123" / "open_clip_model.safetensors"
    file.parent.mkdir(parents=True)
    file.touch()
    found = open_clip_loading._cached(open_clip, "ViT-B-32", "openai")
    assert (found.file, found.quick_gelu, found.colours) == (file, True, OPENAI)
