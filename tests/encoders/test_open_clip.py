"""`open-clip:` against open_clip itself, where it can be imported."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch.nn.functional import layer_norm, normalize

from vtr_core.encoders.encoder import encoder
from vtr_core.errors import CheckpointError, ConfigError

TEXTS = ["a man cooks rice", "two people play chess"]
SIZES = [(40, 30), (31, 57), (24, 27), (24, 24), (11, 7)]


def test_a_missing_package_is_told_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "open_clip", None)
    with pytest.raises(
        ConfigError, match=r"open_clip cannot be imported .*install the extra: .*make install EXTRAS=clip"
    ):
        encoder("open-clip:ViT-B-32/openai")


@pytest.fixture
def open_clip(monkeypatch: pytest.MonkeyPatch) -> Any:
    try:
        import open_clip
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"open_clip cannot be imported ({error}): install the extra `clip`, torchvision of torch's build")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return open_clip


@pytest.fixture
def tiny(open_clip: Any, tmp_path: Path) -> Any:
    """A small model of open_clip's own, whose weights lie in weights.safetensors."""
    config = {
        "embed_dim": 6,
        "vision_cfg": {"image_size": 24, "layers": 2, "width": 64, "patch_size": 8},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
    }
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "vtr-tiny.json").write_text(json.dumps(config))
    open_clip.add_model_config(tmp_path / "configs")
    torch.manual_seed(1)
    model = open_clip.create_model("vtr-tiny", load_weights=False).eval()
    save_file(model.state_dict(), tmp_path / "weights.safetensors")
    return model


def frames(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(height * width).integers(0, 256, (2, height, width, 3), np.uint8)


def pixels(open_clip: Any, seen: np.ndarray, **settings: Any) -> torch.Tensor:
    transform = open_clip.image_transform(24, is_train=False, **settings)
    return torch.stack([transform(Image.fromarray(frame)) for frame in seen])


def test_texts_and_frames_are_the_librarys_own(open_clip: Any, tiny: Any, tmp_path: Path) -> None:
    made = encoder(f"open-clip:vtr-tiny/{tmp_path}/weights.safetensors")
    with torch.no_grad():
        texts = normalize(tiny.encode_text(open_clip.get_tokenizer("ViT-B-32")(TEXTS)), dim=-1)
        np.testing.assert_allclose(made.encode_text(TEXTS), texts.numpy(), atol=1e-5)
        for size in SIZES:
            expected = normalize(tiny.encode_image(pixels(open_clip, frames(*size))), dim=-1)
            np.testing.assert_allclose(made.encode_frames(frames(*size)), expected.numpy(), atol=1e-5)
    with pytest.raises(ConfigError, match="gives no vectors of tokens"):
        made.encode_tokens(TEXTS)


def test_tokens_of_a_frame_are_each_normed_and_projected(open_clip: Any, tiny: Any, tmp_path: Path) -> None:
    made = encoder(f"open-clip:vtr-tiny/{tmp_path}/weights.safetensors")
    seen = frames(24, 24)
    tokens = made.encode_patches(made.prepare(seen))
    norm, hidden = tiny.visual.ln_post, tiny.visual.transformer(tiny.visual._embeds(pixels(open_clip, seen)))
    for place in range(10):
        row = layer_norm(hidden[:, place], norm.normalized_shape, norm.weight, norm.bias, norm.eps) @ tiny.visual.proj
        np.testing.assert_allclose(tokens[:, place], row.detach().numpy(), atol=1e-5)
    tiny.visual.pool_type = "avg"
    made._model.visual.pool_type = "avg"  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"the model pools its patches \(avg\)"):
        made.encode_patches(made.prepare(seen))


@pytest.mark.parametrize("mode", ["squash", "longest"])
def test_a_folders_configuration_says_how_frames_are_prepared(
    open_clip: Any, tiny: Any, tmp_path: Path, mode: str
) -> None:
    """What the decoder cannot do, such as filling up the shorter side, open_clip's own code does."""
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "weights.safetensors").rename(folder / "open_clip_model.safetensors")
    settings = {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bilinear", "resize_mode": mode}
    config = {"model_cfg": open_clip.get_model_config("vtr-tiny"), "preprocess_cfg": settings}
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    made = encoder(f"open-clip:vtr-tiny/{folder}")
    for size in SIZES:
        with torch.no_grad():
            expected = normalize(tiny.encode_image(pixels(open_clip, frames(*size), **settings)), dim=-1)
        np.testing.assert_allclose(made.encode_frames(frames(*size)), expected.numpy(), atol=1e-5)
    (folder / "open_clip_config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"open_clip_config\.json is damaged"):
        encoder(f"open-clip:vtr-tiny/{folder}/")


def test_what_cannot_be_loaded_is_told_in_one_line(open_clip: Any, tiny: Any, tmp_path: Path) -> None:
    for name, message in {
        "ViT-B32/openai": "no model 'ViT-B32'; did you mean ViT-B-32",
        "ViT-B-32": "names no weights; known for ViT-B-32 are openai, ",
        "ViT-B-32/nothing": "knows no weights 'nothing'; known for ViT-B-32 are openai, ",
        "ViT-B-32/openai": "timm/vit_base_patch32_clip_224.openai is no folder, it is not in the Hugging Face cache",
        f"vtr-tiny/{tmp_path}/none.safetensors": "there are no weights ",
    }.items():
        with pytest.raises(ConfigError, match=message):
            encoder(f"open-clip:{name}")
    torch.save(tiny.state_dict(), tmp_path / "weights.pt")
    with pytest.raises(CheckpointError, match=r"weights\.pt is pickled; give safetensors \(OpenAI's"):
        encoder(f"open-clip:vtr-tiny/{tmp_path}/weights.pt")
    with pytest.raises(CheckpointError, match="holds no weights of ViT-B-16"):
        encoder(f"open-clip:ViT-B-16/{tmp_path}/weights.safetensors")
    (tmp_path / "weights.safetensors").write_bytes(b"?")
    with pytest.raises(CheckpointError, match="holds no weights of vtr-tiny"):
        encoder(f"open-clip:vtr-tiny/{tmp_path}/weights.safetensors")


def test_openais_archives_are_read_and_not_run(open_clip: Any, tiny: Any, tmp_path: Path) -> None:
    """Saved by TorchScript, with the code that OpenAI's have; they were trained with QuickGELU."""
    with torch.jit.optimized_execution(False):
        traced = torch.jit.trace_module(tiny, {"encode_image": torch.zeros(1, 3, 24, 24)}, check_trace=False)
    traced.save(str(tmp_path / "ViT-tiny.pt"))
    made = encoder(f"open-clip:vtr-tiny/{tmp_path}/ViT-tiny.pt")
    quick = open_clip.create_model("vtr-tiny", load_weights=False, force_quick_gelu=True).eval()
    quick.load_state_dict(tiny.state_dict())
    with torch.no_grad():
        expected = normalize(quick.encode_image(pixels(open_clip, frames(24, 24))), dim=-1)
    np.testing.assert_allclose(made.encode_frames(frames(24, 24)), expected.numpy(), atol=1e-5)
