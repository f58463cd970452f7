"""A trained joint encoder computes what the library and slow code compute, with its own tokenizer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

from tests.builders.pretrained import save_clip, save_metaclip2, save_siglip, save_siglip2
from tests.reference import clip as slow
from vtr_core.backbones.clip_weights import transformers_state
from vtr_core.config.pretrained import ClipConfig, TransformerSize
from vtr_core.encoders.trainable import TrainableEncoder
from vtr_core.encoders.trainable_source import load_pretrained, recorded
from vtr_core.errors import ConfigError
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary

SAVE: dict[str, Callable[[Path], Any]] = {
    "clip": save_clip,
    "metaclip_2": save_metaclip2,
    "siglip": save_siglip,
    "siglip2": save_siglip2,
}
TEXTS = ["the man runs", "a", "", "dog " * 40, "naïve 😀 日本\n  x_y 12 car", "red car of <b>"]
WORDS = 7


def of_source(folder: Path, **settings: object) -> TrainableEncoder:
    model = TrainableEncoder(recorded(ClipConfig.model_validate({"source": f"hf:{folder}", **settings})), 256)
    load_pretrained(model)
    return model


def texts(captions: list[str]) -> Tensor:
    return torch.from_numpy(Vocabulary.utf8().encode_all(captions, TEXT_BYTES)).long()


def pictures(side: int) -> Tensor:
    return torch.randint(0, 256, (3, 3, side, side), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


def saved(kind: str, folder: Path) -> Path:
    SAVE[kind](folder)
    return folder


@pytest.mark.parametrize("kind", SAVE)
def test_it_computes_what_the_library_computes(kind: str, tmp_path: Path) -> None:
    folder = saved(kind, tmp_path)
    model = of_source(folder).eval()
    library, processor = (
        transformers.AutoModel.from_pretrained(folder).eval(),
        transformers.AutoImageProcessor.from_pretrained(folder),
    )
    longest = "max_length" if kind.startswith("siglip") else True
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    places = min(tokenizer.model_max_length, model.config.context)
    cut = tokenizer(TEXTS, padding=longest, truncation=True, max_length=places, return_tensors="pt")
    ids, mask = model.text_ids(texts(TEXTS))
    assert ids.tolist() == cut["input_ids"].tolist()
    given = {"input_ids": cut["input_ids"]}
    if not kind.startswith("siglip"):  # it was trained to read padding
        assert mask is not None
        assert mask.tolist() == cut["attention_mask"].tolist()
        given["attention_mask"] = cut["attention_mask"]
    given_pictures = pictures(model.config.image_size)
    squares = [one.permute(1, 2, 0).numpy() for one in given_pictures]
    with torch.no_grad():
        assert torch.equal(model.encode_text(texts(TEXTS)), library.get_text_features(**given).pooler_output)
        seen = library.get_image_features(**processor(images=squares, return_tensors="pt")).pooler_output
        assert torch.allclose(model.encode_pictures(given_pictures), seen, atol=1e-6)
        patches = model.encode_patches(given_pictures)
    assert torch.allclose(patches[:, 0], seen, atol=1e-6)
    assert patches.shape == (3, 1 + model.config.grid**2, model.config.embedding_dim)


def sized(**settings: object) -> ClipConfig:
    sizes = {
        "vision": TransformerSize(width=12, layers=2, heads=2),
        "text": TransformerSize(width=8, layers=2, heads=2),
        "image_size": 16,
        "patch": 8,
        "embedding_dim": 8,
        "context": 7,
    }
    return ClipConfig.model_validate({**sizes, **settings})


def openai_state() -> dict[str, Tensor]:
    """Random weights of `sized` under OpenAI's names and shapes."""
    torch.manual_seed(3)
    shapes: dict[str, tuple[int, ...]] = {
        "visual.class_embedding": (12,),
        "visual.conv1.weight": (12, 3, 8, 8),
        "visual.positional_embedding": (5, 12),
        "visual.proj": (12, 8),
        "token_embedding.weight": (WORDS + 2, 8),
        "positional_embedding": (7, 8),
        "text_projection": (8, 8),
    }
    for norm, width in (("visual.ln_pre", 12), ("visual.ln_post", 12), ("ln_final", 8)):
        shapes |= {f"{norm}.weight": (width,), f"{norm}.bias": (width,)}
    for side, width in (("visual.", 12), ("", 8)):
        for layer in (f"{side}transformer.resblocks.{number}" for number in range(2)):
            shapes |= {f"{layer}.attn.in_proj_weight": (3 * width, width), f"{layer}.attn.in_proj_bias": (3 * width,)}
            shapes |= {f"{layer}.attn.out_proj.weight": (width, width), f"{layer}.attn.out_proj.bias": (width,)}
            shapes |= {f"{layer}.mlp.c_fc.weight": (4 * width, width), f"{layer}.mlp.c_fc.bias": (4 * width,)}
            shapes |= {f"{layer}.mlp.c_proj.weight": (width, 4 * width), f"{layer}.mlp.c_proj.bias": (width,)}
            shapes |= {f"{layer}.ln_{n}.{kind}": (width,) for n in (1, 2) for kind in ("weight", "bias")}
    return {name: 0.3 * torch.randn(shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("activation", [slow.quick_gelu, slow.gelu], ids=lambda given: given.__name__)
def test_openais_weights_give_what_loops_compute(activation: slow.Activation) -> None:
    """The published names and layout, against attention by loops in float64."""
    model, published = TrainableEncoder(sized(activation=activation.__name__), WORDS), openai_state()
    model.model.load_state_dict(transformers_state(published))
    state = {name: tensor.double().numpy() for name, tensor in published.items()}
    rows = torch.tensor([[1, 4, 7, 0], [2, 0, 0, 0], [0, 0, 0, 0]])
    with torch.no_grad():
        found = model.encode_text(rows).numpy()
        given = torch.randint(0, 256, (2, 3, 16, 16), dtype=torch.uint8)
        tokens = model.encode_patches(given).numpy()
    for row, words in enumerate([[0, 3, 6], [1], []]):
        assert found[row] == pytest.approx(slow.caption(words, state, 2, 2, activation), abs=1e-5)
    for row in range(2):
        expected = slow.picture_tokens(given[row].numpy(), state, 8, 2, 2, activation)
        assert tokens[row] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", SAVE)
def test_depth_is_embeddings_layers_and_what_follows(kind: str, tmp_path: Path) -> None:
    model = of_source(saved(kind, tmp_path))
    names = {id(parameter): name for name, parameter in model.model.named_parameters()}
    depths = [{names[id(one)] for one in layer} for layer in model.layers_by_depth()]
    assert len(depths) == 4
    assert {name for layer in depths for name in layer} == set(names.values())
    assert all("embedding" in name or "pre_layrnorm" in name for name in depths[0])
    for number in (0, 1):
        assert all(f".layers.{number}." in name for name in depths[number + 1])
        assert {name.split(".")[0] for name in depths[number + 1]} == {"vision_model", "text_model"}
    assert not any((".layers." in name and ".encoder." in name) or "embeddings" in name for name in depths[3])


def test_what_is_frozen_has_no_gradient() -> None:
    def trained(freeze: int | str) -> set[str]:
        model = TrainableEncoder(sized(freeze=freeze), WORDS).model
        return {name for name, one in model.named_parameters() if one.requires_grad}

    every = trained(0)
    assert trained("all") == set()
    assert every - trained(1) == {
        name for name in every if ".layers.0." in name or ".embeddings." in name or "pre_layrnorm" in name
    }
    assert "logit_scale" not in every  # the temperature is the loss's


@pytest.mark.parametrize("kind", ["clip", "siglip2"])
def test_recomputation_gives_the_same_gradients(kind: str, tmp_path: Path) -> None:
    folder, gradients = saved(kind, tmp_path), []
    for recompute in (False, True):
        model = of_source(folder, recompute=recompute).train()
        (
            model.encode_patches(pictures(model.config.image_size)).sum() + model.encode_text(texts(TEXTS)).sum()
        ).backward()
        gradients.append({name: one.grad for name, one in model.named_parameters()})
    for name, plain in gradients[0].items():
        assert plain is not None, name
        assert torch.equal(plain, gradients[1][name]), name


def test_captions_longer_than_the_context_and_models_without_a_record_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"captions of up to 6 words .* longer than the context of 7"):
        TrainableEncoder(sized(), WORDS).encode_text(torch.ones(1, 6, dtype=torch.int64))
    with pytest.raises(ConfigError, match="source was not read"):
        TrainableEncoder(ClipConfig(source="hf:somewhere"), 256)


def test_the_tokenizer_travels_with_the_state(tmp_path: Path) -> None:
    """A model that had another tokenizer cuts with the one that it loads."""
    model = of_source(saved("clip", tmp_path / "a"))
    again = TrainableEncoder(model.config, 256)
    again.take_tokenizer(bytes(np.asarray(model.tokenizer)))
    assert again.text_ids(texts(["the dog"]))[0].tolist() == model.text_ids(texts(["the dog"]))[0].tolist()
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.encode_text(texts(TEXTS)), model.encode_text(texts(TEXTS)))
