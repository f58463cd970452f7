"""`hf:` against transformers itself, with small models that it saved."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch.nn.functional import normalize

from tests.builders import pretrained
from vtr_core.encoders.encoder import Encoder, encoder
from vtr_core.encoders.huggingface import HuggingFaceEncoder
from vtr_core.errors import CheckpointError, ConfigError, VtrError
from vtr_core.video.streams import PatchedPicture, Picture, SquashedPicture

TEXTS = ["a dog runs in the garden", "a man lifts a barbell", "red car of a man in the garden of a cat in a car"]
SAVED: dict[str, Callable[[Path], Any]] = {
    "clip": pretrained.save_clip,
    "siglip": pretrained.save_siglip,
    "siglip2": pretrained.save_siglip2,
    "metaclip2": pretrained.save_metaclip2,
    "altclip": pretrained.save_altclip,
}
SIZES = [(40, 64), (64, 40), (28, 31), (90, 120)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def frames(height: int, width: int, count: int = 5) -> np.ndarray:
    return np.random.default_rng(height * width).integers(0, 256, (count, height, width, 3), np.uint8)


def saved(folder: Path, name: str) -> tuple[Any, Encoder, Path]:
    place = folder / name
    shutil.rmtree(place, ignore_errors=True)
    model = SAVED[name](place)
    return model, HuggingFaceEncoder(str(place), "cpu"), place


@pytest.mark.parametrize("name", SAVED)
def test_texts_and_frames_are_the_librarys_own(folder: Path, name: str) -> None:
    """Of frames of several sizes, by its processor; of texts, of which one is longer than the model's positions."""
    model, made, place = saved(folder, name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    padding = "max_length" if name.startswith("siglip") else True
    longest = 16 if name == "siglip2" else 12
    ids = tokenizer(TEXTS, padding=padding, truncation=True, max_length=longest, return_tensors="pt")
    inputs = {key: ids[key] for key in ("input_ids", "attention_mask") if key in ids}
    with torch.no_grad():
        texts = model.get_text_features(**inputs)
    expected = normalize(texts.pooler_output, dim=-1).numpy()
    np.testing.assert_allclose(made.encode_text(TEXTS), expected, atol=1e-5)
    tokens = made.encode_tokens(TEXTS)
    assert tokens.mask.sum(dim=1).tolist() == inputs["attention_mask"].sum(dim=1).tolist()
    kept = inputs["attention_mask"][0].bool()
    torch.testing.assert_close(tokens.vectors[0][tokens.mask[0]], texts.last_hidden_state[0][kept], atol=1e-5, rtol=0)
    processor = transformers.AutoImageProcessor.from_pretrained(place, backend="pil")
    for size in SIZES:
        seen = frames(*size)
        with torch.no_grad():
            vectors = model.get_image_features(**processor(images=list(seen), return_tensors="pt")).pooler_output
        np.testing.assert_allclose(made.encode_frames(seen), normalize(vectors, dim=-1).numpy(), atol=1e-5)


def test_each_kind_of_picture_is_the_decoders_work(folder: Path) -> None:
    kinds = {name: saved(folder, name)[1].recipe for name in ("clip", "siglip", "siglip2")}
    pictures = {name: recipe.stream.picture for name, recipe in kinds.items() if recipe is not None}
    assert pictures == {
        "clip": Picture(28, 28, "pillow_bicubic"),
        "siglip": SquashedPicture(24, 24, "pillow_bicubic"),
        "siglip2": PatchedPicture(4, 36, "pillow_bilinear"),
    }


def test_a_row_of_a_video_model_is_a_window_of_frames(tmp_path: Path) -> None:
    """Of ten frames in windows of four, the last two are seen twice each; windows of a chunk do not overlap."""
    model = pretrained.save_xclip(tmp_path / "x", frames=4)
    made = encoder(f"hf:{tmp_path / 'x'}")
    assert made.recipe is not None
    assert (made.recipe.rows_per_second, made.recipe.stream.rate.per_second) == (0.5, 2.0)
    assert made.recipe.stream.chunk % 4 == 0
    seen = frames(40, 64, 10)
    processor = transformers.AutoImageProcessor.from_pretrained(tmp_path / "x", backend="pil")
    pixels = processor(images=list(seen), return_tensors="pt")["pixel_values"]
    windows = torch.stack([pixels[:4], pixels[4:8], pixels[[8, 8, 9, 9]]])
    with torch.no_grad():
        expected = normalize(model.get_video_features(pixel_values=windows).pooler_output, dim=-1).numpy()
    np.testing.assert_allclose(made.encode_frames(seen), expected, atol=1e-5)
    with pytest.raises(ConfigError, match="XCLIPModel pools its patches, or sees windows"):
        made.encode_patches(made.prepare(seen))


def test_tokens_of_a_frame_are_each_normed_and_projected(folder: Path) -> None:
    model, made, _ = saved(folder, "clip")
    shown = made.prepare(frames(40, 64, 3))
    tokens = made.encode_patches(shown)
    assert tokens.shape == (3, 1 + 7 * 7, 24)
    with torch.no_grad():
        inputs = made.joint.preparation.inputs(shown, "cpu")  # type: ignore[attr-defined]
        hidden = model.vision_model(**inputs).last_hidden_state
        for place in (0, 1, 49):
            row = model.visual_projection(model.vision_model.post_layernorm(hidden[:, place]))
            np.testing.assert_allclose(tokens[:, place], row.numpy(), atol=1e-5)
        cls = model.get_image_features(**inputs).pooler_output
    np.testing.assert_allclose(tokens[:, 0], cls.numpy(), atol=1e-5)
    with pytest.raises(ConfigError, match="SiglipModel pools its patches"):
        saved(folder, "siglip")[1].encode_patches(frames(24, 24))


def test_a_fingerprint_is_of_what_is_computed_and_not_of_where_it_lies(folder: Path, tmp_path: Path) -> None:
    _, made, place = saved(folder, "clip")
    shutil.copytree(place, tmp_path / "copy")
    (tmp_path / "copy" / "README.md").write_text("the same")
    copied = HuggingFaceEncoder(str(tmp_path / "copy"), "cpu")
    assert copied.fingerprint == made.fingerprint
    pretrained.save_clip(tmp_path / "seed", seed=1)
    pretrained.save_clip(tmp_path / "mean", image_mean=[0.5, 0.5, 0.5])
    others = [HuggingFaceEncoder(str(tmp_path / name), "cpu").fingerprint for name in ("seed", "mean")]
    words = json.loads((tmp_path / "copy" / "tokenizer.json").read_text())
    words["model"]["vocab"]["dog"], words["model"]["vocab"]["cat"] = (
        words["model"]["vocab"][name] for name in ("cat", "dog")
    )
    (tmp_path / "copy" / "tokenizer.json").write_text(json.dumps(words))
    others.append(HuggingFaceEncoder(str(tmp_path / "copy"), "cpu").fingerprint)
    assert len({made.fingerprint, *others}) == 4


def test_a_model_of_text_alone_and_one_of_images_alone_are_told(folder: Path, tmp_path: Path) -> None:
    pretrained.save_bert(tmp_path / "bert")
    with pytest.raises(CheckpointError, match=r"is a BertModel, which gives no features of text and of images; .*st:"):
        encoder(f"hf:{tmp_path / 'bert'}")
    from transformers import CLIPVisionModel

    _, _, place = saved(folder, "clip")
    CLIPVisionModel.from_pretrained(place).save_pretrained(tmp_path / "vision")
    with pytest.raises(CheckpointError, match="is a CLIPVisionModel, which gives no features of text and of images"):
        encoder(f"hf:{tmp_path / 'vision'}")


def broken(place: Path, how: str) -> None:
    weights = place / "model.safetensors"
    match how:
        case "no weights":
            weights.unlink()
        case "pickled":
            weights.unlink()
            torch.save({}, place / "pytorch_model.bin")
        case "cut off":
            weights.write_bytes(weights.read_bytes()[:1000])
        case "damaged JSON":
            (place / "config.json").write_text("{")
        case "other sizes":
            config = json.loads((place / "config.json").read_text())
            config["vision_config"]["hidden_size"] = 64
            (place / "config.json").write_text(json.dumps(config))
        case "a layer more":
            config = json.loads((place / "config.json").read_text())
            config["text_config"]["num_hidden_layers"] = 3
            (place / "config.json").write_text(json.dumps(config))
        case "no processor":
            (place / "preprocessor_config.json").unlink()
        case "no tokenizer":
            (place / "tokenizer.json").unlink()
            (place / "tokenizer_config.json").unlink()
        case "own code":
            config = json.loads((place / "config.json").read_text())
            config["model_type"], config["auto_map"] = "unheard", {"AutoConfig": "own.C", "AutoModel": "own.M"}
            (place / "own.py").write_text(f"open({str(place / 'ran')!r}, 'w')")
            (place / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no weights", "it has no weights; give a folder with model.safetensors"),
        ("pickled", r"its weights are pickled \(pytorch_model.bin\); give a folder with model.safetensors"),
        ("cut off", "holds no model that transformers loads"),
        ("damaged JSON", "holds no model that transformers loads"),
        ("other sizes", "holds no model that transformers loads|lacks"),
        ("a layer more", r"lacks 16 of CLIPModel's weights, such as text_model"),
        ("no processor", "holds no image processor that transformers loads"),
        ("no tokenizer", r"holds no tokenizer \(tokenizer.json, "),
        ("own code", "it brings code of its own, .*is never run"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_one_line(folder: Path, tmp_path: Path, how: str, message: str) -> None:
    _, _, place = saved(folder, "clip")
    shutil.copytree(place, tmp_path / "broken")
    broken(tmp_path / "broken", how)
    with pytest.raises(VtrError, match=message) as caught:
        encoder(f"hf:{tmp_path / 'broken'}")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "broken" / "ran").exists()


def test_places_that_are_no_folder_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(ConfigError, match="is a file; give the folder that holds it"):
        encoder(f"hf:{tmp_path / 'model.safetensors'}")
    with pytest.raises(ConfigError, match=r"there is no folder .*none; give a folder of a model, or owner/name"):
        encoder(f"hf:{tmp_path / 'none'}")
    with pytest.raises(ConfigError, match="there is no folder clip; "):
        encoder("hf:clip")


def test_a_cached_repository_is_loaded_without_the_hub(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    _, made, place = saved(folder, "clip")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    cached = tmp_path / "models--someone--small-clip"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("0123")
    shutil.copytree(place, cached / "snapshots" / "0123")
    assert encoder("hf:someone/small-clip").fingerprint == made.fingerprint
    with pytest.raises(
        ConfigError, match="someone/other is no folder, it is not in the Hugging Face cache, and the hub"
    ):
        encoder("hf:someone/other")
