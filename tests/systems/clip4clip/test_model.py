"""CLIP4Clip's numbers against slow code, what is frozen, and the names of published weights."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from tests.reference import clip as slow
from vtr_core.config.override import override
from vtr_core.data.batches.crops import Crops
from vtr_core.data.batches.pictures import PictureBatch
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.nn.clip.clip import Clip
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.nn.frame_mean import mean_direction
from vtr_core.run.presets import preset
from vtr_core.systems.clip4clip.config import Clip4ClipConfig
from vtr_core.systems.clip4clip.model import Clip4Clip, FrameTransformer
from vtr_core.systems.clip4clip.pretrained import load_pretrained

WORDS, SIDE, FRAMES = 7, 16, 3


def config(kind: str = "mean", **changes: object) -> Clip4ClipConfig:
    size = {"width": 8, "layers": 2, "heads": 2}
    sizes = {"vision": {**size, "width": 12}, "text": size, "image_size": SIDE, "patch": 8, "embedding_dim": 8}
    backbone = {f"model.backbone.{name}": value for name, value in {**sizes, "context": 7}.items()}
    small = {
        **backbone,
        "model.inputs.num_words": WORDS,
        "model.stored_size": SIDE,
        "model.frames.kind": kind,
    }
    more = {"muse": {"model.frames.scales": (1, 2), "model.frames.learner.layers": 1}, "transformer": {}, "mean": {}}
    model = override(preset("clip4clip-tiny"), {**small, **more[kind], **changes}).model
    assert isinstance(model, Clip4ClipConfig)
    return model


def model(kind: str = "mean", **changes: object) -> Clip4Clip:
    torch.manual_seed(0)
    return Clip4Clip(config(kind, **changes))


def batch(rows: int = 3) -> PictureBatch:
    torch.manual_seed(1)
    tokens = torch.tensor([[1, 4, 7, 0], [2, 0, 0, 0], [0, 0, 0, 0]])[:rows]
    keys = torch.arange(rows)
    frames = torch.randint(0, 256, (rows, FRAMES, 3, SIDE, SIDE), dtype=torch.uint8)
    mask = torch.arange(FRAMES) < torch.tensor([[3], [1], [2]])[:rows]
    return PictureBatch(frames=frames, mask=mask, tokens=tokens, clip_key=keys, video_key=keys, caption_key=keys)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x)


@pytest.mark.parametrize("activation", [slow.quick_gelu, slow.gelu], ids=lambda given: given.__name__)
def test_both_sides_are_those_of_loops(activation: slow.Activation) -> None:
    net, given = model(**{"model.backbone.activation": activation.__name__}), batch()
    state = {name: tensor.detach().double().numpy() for name, tensor in net.clip.state_dict().items()}
    found = net(given)
    assert found.present[TEXT].tolist() == [True, True, False]
    assert torch.equal(found.vectors[TEXT][2], torch.zeros(8))
    for row, words in enumerate([[0, 3, 6], [1]]):
        assert found.vectors[TEXT][row].tolist() == pytest.approx(
            unit(slow.caption(words, state, 2, 2, activation)), abs=1e-5
        )
    for row in range(3):
        frames = given.frames[row][given.mask[row]].numpy()
        cls = [unit(slow.picture_tokens(frame, state, 8, 2, 2, activation)[0]) for frame in frames]
        assert found.vectors[VIDEO][row].tolist() == pytest.approx(unit(np.mean(cls, axis=0)), abs=1e-5)


@pytest.mark.parametrize("kind", ["mean", "transformer", "muse"])
def test_frames_that_are_not_there_change_nothing(kind: str) -> None:
    net, given = model(kind), batch()
    before = net.video(given.frames, given.mask)
    given.frames[~given.mask] = 255
    assert torch.equal(net.video(given.frames, given.mask), before)
    alone = net.video(given.frames[1:2, :1], given.mask[1:2, :1])
    assert torch.allclose(alone, before[1:2], atol=1e-6)


def test_the_order_of_frames_counts_for_seq_transf_alone() -> None:
    given = batch(1)
    for kind, same in (("mean", True), ("transformer", False)):
        net = model(kind)
        turned = net.video(given.frames.flip(1), given.mask)
        assert torch.allclose(turned, net.video(given.frames, given.mask), atol=1e-6) == same


def test_with_closed_gates_muse_is_the_mean_of_frames() -> None:
    net, given = model("muse", **{"model.frames.initial_gate": 0.0}), batch()
    tokens = torch.randn(3, FRAMES, 5, 8)
    assert torch.equal(net.pooled(tokens, given.mask), mean_direction(tokens[:, :, 0], given.mask))


@pytest.mark.parametrize("kind", ["transformer", "muse"])
def test_gradients_of_what_joins_frames_are_those_of_given_tokens(kind: str) -> None:
    """The block learns from a trained CLIP as from tokens that were computed before."""
    net, given = model(kind), batch()
    assert net.temporal is not None
    weights = torch.randn(3, 8)
    (net.video(given.frames, given.mask) * weights).sum().backward()
    whole = {name: one.grad.clone() for name, one in net.temporal.named_parameters() if one.grad is not None}
    assert any(one.grad is not None and one.grad.abs().max() > 0 for one in net.clip.visual.parameters())
    net.zero_grad()
    with torch.no_grad():
        seen = net.clip.visual(given.frames[given.mask])
        tokens = torch.zeros(3, FRAMES, 5, 8).index_put((given.mask,), seen)
    (net.pooled(tokens, given.mask) * weights).sum().backward()
    assert whole
    for name, one in net.temporal.named_parameters():
        if name in whole:
            assert one.grad is not None
            assert torch.allclose(whole[name], one.grad, atol=1e-6), name


def test_recomputation_gives_the_same_gradients() -> None:
    given, found = batch(), []
    for recompute in (False, True):
        net = model(**{"model.backbone.recompute": recompute})
        net(given).vectors[VIDEO][:, 0].sum().backward()
        found.append([one.grad for one in net.clip.visual.parameters()])
    for plain, again in zip(*found, strict=True):
        assert plain is not None
        assert torch.equal(plain, again)


def test_what_is_frozen_has_no_gradient() -> None:
    def trained(freeze: int | str) -> set[str]:
        clip = model(**{"model.backbone.freeze": freeze}).clip
        return {name for name, one in clip.named_parameters() if one.requires_grad}

    every = {name for name, _ in model().clip.named_parameters()}
    assert trained(0) == every
    assert trained("all") == set()
    last = {name for name in every if ".1." in name or name.startswith(("ln_final", "text_proj", "visual.ln_post"))}
    assert {name for name in trained(1) if ".0." in name} == set()
    assert trained(1) >= {name for name in last if "resblocks.0" not in name} | {"visual.proj"}
    assert not trained(1) & {"token_embedding.weight", "visual.conv1.weight", "visual.ln_pre.weight"}


def huggingface(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same parameters under transformers' names."""
    found: dict[str, Tensor] = {"logit_scale": torch.tensor(1.0)}
    for side, prefix in (("visual.", "vision_model"), ("", "text_model")):
        for layer in range(2):
            mine, theirs = f"{side}transformer.resblocks.{layer}", f"{prefix}.encoder.layers.{layer}"
            for kind in ("weight", "bias"):
                for letter, part in zip("qkv", state[f"{mine}.attn.in_proj_{kind}"].chunk(3), strict=True):
                    found[f"{theirs}.self_attn.{letter}_proj.{kind}"] = part.clone()
                for a, b in (
                    ("attn.out_proj", "self_attn.out_proj"),
                    ("ln_1", "layer_norm1"),
                    ("ln_2", "layer_norm2"),
                    ("mlp.c_fc", "mlp.fc1"),
                    ("mlp.c_proj", "mlp.fc2"),
                ):
                    found[f"{theirs}.{b}.{kind}"] = state[f"{mine}.{a}.{kind}"]
    for kind in ("weight", "bias"):
        found[f"vision_model.pre_layrnorm.{kind}"] = state[f"visual.ln_pre.{kind}"]
        found[f"vision_model.post_layernorm.{kind}"] = state[f"visual.ln_post.{kind}"]
        found[f"text_model.final_layer_norm.{kind}"] = state[f"ln_final.{kind}"]
    vision, text = "vision_model.embeddings", "text_model.embeddings"
    found[f"{vision}.class_embedding"] = state["visual.class_embedding"]
    found[f"{vision}.patch_embedding.weight"] = state["visual.conv1.weight"]
    found[f"{vision}.position_embedding.weight"] = state["visual.positional_embedding"]
    found[f"{vision}.position_ids"] = torch.arange(5)
    found[f"{text}.token_embedding.weight"] = state["token_embedding.weight"]
    found[f"{text}.position_embedding.weight"] = state["positional_embedding"]
    found["visual_projection.weight"] = state["visual.proj"].T.contiguous()
    found["text_projection.weight"] = state["text_projection"].T.contiguous()
    return found


@pytest.mark.parametrize("names", ["openai", "clip4clip", "transformers"])
def test_weights_load_under_each_published_name(names: str, tmp_path: Path) -> None:
    torch.manual_seed(5)
    given = Clip(config().backbone, WORDS)
    state = {name: tensor.contiguous() for name, tensor in given.state_dict().items()}
    told = {
        "openai": {**state, "logit_scale": torch.tensor(4.6)},
        "clip4clip": {**{f"clip.{name}": value for name, value in state.items()}, "other": torch.zeros(1)},
        "transformers": huggingface(state),
    }[names]
    file = str(tmp_path / "w.safetensors")
    save_file(told, file)
    net = model("transformer", **{"model.backbone.weights": file})
    load_pretrained(net)
    for name, value in net.clip.state_dict().items():
        assert torch.equal(value, state[name]), name
    assert isinstance(net.temporal, FrameTransformer)  # begins with the text transformer
    assert torch.equal(net.temporal.positions[:7], state["positional_embedding"])
    first = net.temporal.transformer.resblocks[1].state_dict()["mlp.c_fc.weight"]
    assert torch.equal(first, state["transformer.resblocks.1.mlp.c_fc.weight"])


class Nested(torch.nn.Module):
    """Tensors at the places that their dotted names say, in half precision; `buffers` as constants."""

    def __init__(self, state: dict[str, Tensor], buffers: dict[str, Tensor]) -> None:
        super().__init__()
        children: dict[str, dict[str, Tensor]] = {}
        for name, value in state.items():
            first, _, rest = name.partition(".")
            if rest:
                children.setdefault(first, {})[rest] = value
            else:
                self.register_parameter(first, torch.nn.Parameter(value.half()))
        for name, inner in children.items():
            constants = {"attn_mask": torch.zeros(2, 2)} if "attn.in_proj_weight" in inner else {}
            self.add_module(name, Nested(inner, constants))
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, x: Tensor) -> Tensor:
        return x


def test_a_script_archive_with_openais_names_loads(tmp_path: Path) -> None:
    """With the sizes and masks that such files hold beside the parameters."""
    torch.manual_seed(5)
    state = {name: tensor.contiguous() for name, tensor in Clip(config().backbone, WORDS).state_dict().items()}
    sizes = {name: torch.tensor(1) for name in ("input_resolution", "context_length", "vocab_size")}
    file = str(tmp_path / "ViT-tiny.pt")
    torch.jit.script(Nested({**state, "logit_scale": torch.tensor(4.6)}, sizes)).save(file)
    net = model(**{"model.backbone.weights": file})
    load_pretrained(net)
    for name, value in net.clip.state_dict().items():
        assert torch.equal(value, state[name].half().float()), name


def test_weights_of_another_vocabulary_say_what_to_do(tmp_path: Path) -> None:
    file = str(tmp_path / "w.safetensors")
    save_file(dict(Clip(config().backbone, WORDS + 1).state_dict()), file)
    with pytest.raises(CheckpointError, match="has 10 tokens, the data set's vocabulary has 9"):
        load_pretrained(model(**{"model.backbone.weights": file}))
    with pytest.raises(CheckpointError, match="there is no file of weights nowhere"):
        load_pretrained(model(**{"model.backbone.weights": "nowhere"}))


def test_captions_longer_than_the_context_and_small_frames_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"captions of up to 6 words .* longer than the context of 7"):
        model().text(torch.ones(1, 6, dtype=torch.int64))
    with pytest.raises(ConfigError, match=r"frames of 8 pixels are smaller than backbone\.image_size = 16"):
        config(**{"model.stored_size": 8})
    with pytest.raises(ConfigError, match=r"scales = \(2, 4\) must hold 1"):
        config("muse", **{"model.frames.scales": (2, 4)})
    with pytest.raises(ConfigError, match="scale 3"):
        model("muse", **{"model.frames.scales": (1, 3)})


def columns(stored: int, step: int) -> dict[str, np.ndarray]:
    frames = np.random.default_rng(0).integers(0, 256, (4, 2, stored, stored, 3), np.uint8)
    keys = np.array([5, -6, 7, 8])
    return {
        "frames": frames.reshape(4, 2, -1),
        "frames.kept": np.full(4, 2),
        "tokens": np.ones((4, 3), np.int32),
        "clip_key": keys,
        "video_key": keys,
        "caption_key": keys,
        "step": np.array([step]),
    }


def test_crops_are_the_centre_or_the_same_random_place_on_any_worker() -> None:
    whole = columns(20, 3)
    (centre,) = {Crops(20, SIDE, False, 0).batch(whole).frames[..., 0, 0].sum().item()}
    assert centre == whole["frames"].reshape(4, 2, 20, 20, 3)[:, :, 2, 2].sum()
    random = Crops(20, SIDE, True, 0)
    found = random.batch(whole).frames
    half = {name: values if name == "step" else values[2:] for name, values in whole.items()}
    assert torch.equal(random.batch(half).frames, found[2:])
    assert not torch.equal(random.batch({**whole, "step": np.array([4])}).frames, found)
    clip = torch.from_numpy(whole["frames"].reshape(4, 2, 20, 20, 3)).permute(0, 1, 4, 2, 3)
    places = [(i, j) for i in range(5) for j in range(5)]
    for row in range(4):
        assert any(torch.equal(clip[row, :, :, i : i + 16, j : j + 16], found[row]) for i, j in places)
