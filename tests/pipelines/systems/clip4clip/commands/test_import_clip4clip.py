"""`vtr import clip4clip`: the weights under their published names make the model that computes the same."""

import math
import shutil
from pathlib import Path

import pytest
import torch
from torch import Tensor

from pipelines.cli import run
from tests.builders.clip_merges import LINES, PIECES
from tests.builders.pretrained import save_clip
from tests.reference import clip as slow
from tests.security.payload import Payload
from vtr_core.backbones.clip_weights import renamed_layers, transformers_state
from vtr_core.config.losses import InfoNceConfig
from vtr_core.embedding.embedded_rows import encode
from vtr_core.errors import CheckpointError, ConfigError, InputError
from vtr_core.systems.clip4clip.config import Clip4ClipConfig
from vtr_core.systems.clip4clip.model import Clip4Clip
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary
from vtr_core.train.checkpoint import load_model

WIDTH, FRAMES = 64, 9


def layers(prefix: str, count: int) -> dict[str, Tensor]:
    """Layers of one head, with OpenAI's names."""
    found: dict[str, Tensor] = {}
    for layer in (f"{prefix}resblocks.{number}" for number in range(count)):
        for name, shape in {
            "attn.in_proj_weight": (3 * WIDTH, WIDTH),
            "attn.in_proj_bias": (3 * WIDTH,),
            "attn.out_proj.weight": (WIDTH, WIDTH),
            "attn.out_proj.bias": (WIDTH,),
            "mlp.c_fc.weight": (4 * WIDTH, WIDTH),
            "mlp.c_fc.bias": (4 * WIDTH,),
            "mlp.c_proj.weight": (WIDTH, 4 * WIDTH),
            "mlp.c_proj.bias": (WIDTH,),
            **{f"ln_{n}.{kind}": (WIDTH,) for n in (1, 2) for kind in ("weight", "bias")},
        }.items():
            found[f"{layer}.{name}"] = 0.1 * torch.randn(shape)
    return found


def openai() -> dict[str, Tensor]:
    """A small CLIP as OpenAI's files have it, with pictures of 32 × 32 pixels and 34 places of text."""
    torch.manual_seed(0)
    state = {
        "visual.class_embedding": torch.randn(WIDTH),
        "visual.conv1.weight": 0.1 * torch.randn(WIDTH, 3, 8, 8),
        "visual.positional_embedding": torch.randn(17, WIDTH),
        "visual.proj": 0.1 * torch.randn(WIDTH, 48),
        "token_embedding.weight": torch.randn(PIECES + 2, WIDTH),
        "positional_embedding": torch.randn(34, WIDTH),
        "text_projection": 0.1 * torch.randn(WIDTH, 48),
        "logit_scale": torch.tensor(3.0),
    }
    norms = ("visual.ln_pre", "visual.ln_post", "ln_final")
    state |= {f"{norm}.{kind}": torch.randn(WIDTH) for norm in norms for kind in ("weight", "bias")}
    return {**state, **layers("visual.transformer.", 2), **layers("transformer.", 2)}


def clip4clip(sequence: bool) -> dict[str, Tensor]:
    """The same under the published names; with `sequence` seqTransf's transformer of two layers."""
    state = {f"clip.{name}": tensor for name, tensor in openai().items()}
    if sequence:
        state["clip.visual.proj"] = torch.randn(WIDTH, WIDTH)
        state["clip.text_projection"] = torch.randn(WIDTH, WIDTH)
        state |= {**layers("transformerClip.", 2), "frame_position_embeddings.weight": torch.randn(FRAMES, WIDTH)}
    return {f"module.{name}": tensor.clone() for name, tensor in state.items()}


def taken(folder: Path, state: dict[str, Tensor], *words: str) -> Clip4Clip:
    torch.save(state, folder / "pytorch_model.bin.4")
    (folder / "merges.txt").write_text(LINES)  # beside the weights
    run("import", ["clip4clip", str(folder / "pytorch_model.bin.4"), "--out", str(folder / "c"), *words])
    model = load_model(str(folder / "c")).model
    assert isinstance(model, Clip4Clip)
    return model


@pytest.mark.parametrize("sequence", [False, True], ids=["meanP", "seqTransf"])
def test_every_weight_has_its_place(sequence: bool, tmp_path: Path) -> None:
    state = {name.removeprefix("module."): value for name, value in clip4clip(sequence).items()}
    model = taken(tmp_path, clip4clip(sequence), "--max-frames", "5")
    loaded = load_model(str(tmp_path / "c"))
    assert loaded.vocabulary == Vocabulary.utf8()
    assert loaded.config.batch.max_frames == 5
    assert isinstance(loaded.config.loss, InfoNceConfig)
    assert loaded.config.loss.temperature == pytest.approx(math.exp(-3))
    assert isinstance(loaded.config.model, Clip4ClipConfig)
    size = loaded.config.model.backbone
    assert (size.image_size, size.patch, size.vision.layers, size.text.heads, size.context) == (32, 8, 2, 1, 34)
    assert loaded.config.model.stored_size == 32
    clip = transformers_state(state)
    assert clip.keys() == model.clip.model.state_dict().keys()
    assert all(torch.equal(value, clip[name]) for name, value in model.clip.model.state_dict().items())
    if sequence:
        assert model.temporal is not None
        own = model.temporal.state_dict()
        assert torch.equal(own.pop("positions"), state["frame_position_embeddings.weight"])
        begin = "transformerClip."
        given = renamed_layers({n.removeprefix(begin): v for n, v in state.items() if n.startswith(begin)})
        assert {name.removeprefix("transformer."): value.tolist() for name, value in own.items()} == {
            name: value.tolist() for name, value in given.items()
        }


@pytest.mark.parametrize("activation", ["quick_gelu", "gelu"])
def test_plain_clip_is_taken_and_reads_any_words(activation: str, tmp_path: Path) -> None:
    """OpenAI's names, without a prefix; a caption's vector is that of loops over its pieces."""
    model = taken(tmp_path, openai(), "--activation", activation)
    known = {"the": 513, "cook": 518}
    published = {name: value.double().numpy() for name, value in openai().items()}
    ids = model.clip.text_ids(encode(Vocabulary.utf8(), ["The the"], TEXT_BYTES))[0]
    assert ids.tolist() == [[PIECES, known["the"], known["the"], PIECES + 1]]
    found = model.clip.encode_text(encode(Vocabulary.utf8(), ["The the"], TEXT_BYTES)).detach()[0].numpy()
    expected = slow.caption([known["the"]] * 2, published, 2, 1, getattr(slow, activation))
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_folder_of_transformers_needs_nothing_else_and_not_itself_later(tmp_path: Path) -> None:
    saved = save_clip(tmp_path / "hf")
    run("import", ["clip4clip", str(tmp_path / "hf"), "--out", str(tmp_path / "c")])
    shutil.rmtree(tmp_path / "hf")
    model = load_model(str(tmp_path / "c")).model
    assert isinstance(model, Clip4Clip)
    for name, value in model.clip.model.state_dict().items():
        assert torch.equal(value, saved.state_dict()[name])
    assert model.encode_text(encode(Vocabulary.utf8(), ["a dog runs"], TEXT_BYTES)).norm().item() == pytest.approx(1)


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    whole = clip4clip(sequence=True)
    cases: list[tuple[dict[str, Tensor | None], str]] = [
        ({"lstm_visual.weight_ih_l0": torch.ones(1)}, "has lstm_visual.weight_ih_l0, so it is of seqLSTM"),
        ({"cross.pooler.dense.bias": torch.ones(1)}, "it is of tightTransf"),
        ({"module.clip.text_projection": None}, "text_projection.weight is missing; give the weights of a CLIP"),
        ({"module.clip.ln_final.bias": None}, "it lacks text_model.final_layer_norm.bias"),
        ({"module.transformerClip.resblocks.1.ln_1.bias": torch.ones(3)}, "other shapes of transformer.layers.1"),
        ({"module.clip.visual.more": torch.ones(1)}, "has unknown visual.more"),
        ({"module.frame_position_embeddings.weight": None}, "frame_position_embeddings.weight is missing"),
    ]
    for changes, message in cases:
        state = {name: value for name, value in {**whole, **changes}.items() if value is not None}
        with pytest.raises(CheckpointError, match=message):
            taken(tmp_path, state)
    assert not (tmp_path / "c").exists()


def test_other_tokenizers_and_pickles_are_refused(tmp_path: Path) -> None:
    more = {**openai(), "token_embedding.weight": torch.ones(PIECES + 5, WIDTH)}
    with pytest.raises(InputError, match=rf"makes {PIECES + 2} tokens, the model has {PIECES + 5}"):
        taken(tmp_path, more)
    with pytest.raises(CheckpointError, match="is not a file of weights"):
        taken(tmp_path, {"clip": Payload(tmp_path / "ran")})  # type: ignore[dict-item]
    assert not (tmp_path / "ran").exists()
    torch.save(openai(), tmp_path / "alone.pt")
    (tmp_path / "merges.txt").rename(tmp_path / "others.txt")
    with pytest.raises(ConfigError, match=r"has no tokenizer beside it .*; give one with --tokenizer"):
        run("import", ["clip4clip", str(tmp_path / "alone.pt"), "--out", str(tmp_path / "c")])
    words = ["--tokenizer", str(tmp_path / "others.txt"), "--out", str(tmp_path / "c")]
    run("import", ["clip4clip", str(tmp_path / "alone.pt"), *words])
