"""CLIP4Clip: settings, both sides, weights, given frames."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

import vtr_core
from pipelines.extract.command import ExtractFlags, extract
from tests.builders.pretrained import save_clip
from tests.builders.small_videos import grey_video
from tests.encoders.test_trainable import openai_state
from tests.reference import clip as slow
from vtr_core.backbones.clip_weights import transformers_state
from vtr_core.config.override import override
from vtr_core.data.batches import Crops, PictureBatch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.stored_rows import picture_rows
from vtr_core.data.records.arrays import as_sequences
from vtr_core.data.records.schema import TOKEN_DTYPE
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import CheckpointError, ConfigError, InputError
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.run.build import build_model
from vtr_core.run.inputs import model_vocabulary, training_reader, with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.clip4clip.config import Clip4ClipConfig
from vtr_core.systems.clip4clip.model import Clip4Clip, FrameTransformer, load_pretrained
from vtr_core.systems.clip4clip.task import embed_clips
from vtr_core.systems.video_space import embed_words
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, texts_of
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint

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
    published = openai_state()
    net.clip.model.load_state_dict(transformers_state(published))
    state = {name: tensor.double().numpy() for name, tensor in published.items()}
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
    before = net.encode_videos(given.frames, given.mask)
    given.frames[~given.mask] = 255
    assert torch.equal(net.encode_videos(given.frames, given.mask), before)
    alone = net.encode_videos(given.frames[1:2, :1], given.mask[1:2, :1])
    assert torch.allclose(alone, before[1:2], atol=1e-6)


def test_the_order_of_frames_counts_for_seq_transf_alone() -> None:
    given = batch(1)
    for kind, same in (("mean", True), ("transformer", False)):
        net = model(kind)
        turned = net.encode_videos(given.frames.flip(1), given.mask)
        assert torch.allclose(turned, net.encode_videos(given.frames, given.mask), atol=1e-6) == same


@pytest.mark.parametrize("kind", ["transformer", "muse"])
def test_gradients_of_what_joins_frames_are_those_of_given_tokens(kind: str) -> None:
    """The block learns from a trained CLIP as from tokens that were computed before."""
    net, given = model(kind), batch()
    assert net.temporal is not None
    weights = torch.randn(3, 8)
    (net.encode_videos(given.frames, given.mask) * weights).sum().backward()
    whole = {name: one.grad.clone() for name, one in net.temporal.named_parameters() if one.grad is not None}
    assert any(one.grad is not None and one.grad.abs().max() > 0 for one in net.clip.model.vision_model.parameters())
    net.zero_grad()
    with torch.no_grad():
        seen = net.clip.encode_patches(given.frames[given.mask])
        tokens = torch.zeros(3, FRAMES, 5, 8).index_put((given.mask,), seen)
    (net.pooled(tokens, given.mask) * weights).sum().backward()
    assert whole
    for name, one in net.temporal.named_parameters():
        if name in whole:
            assert one.grad is not None
            assert torch.allclose(whole[name], one.grad, atol=1e-6), name


@pytest.mark.parametrize("names", ["openai", "clip4clip", "text", "transformers", "our own run"])
def test_weights_load_under_each_published_name(names: str, tmp_path: Path) -> None:
    state = openai_state()
    later = {name if name.startswith("visual.") else f"text.{name}": value for name, value in state.items()}
    given = {
        "openai": {**state, "logit_scale": torch.tensor(4.6)},
        "clip4clip": {**{f"clip.{name}": value for name, value in state.items()}, "other": torch.zeros(1)},
        "text": {**later, "logit_bias": torch.tensor(0.0)},
        "transformers": {**transformers_state(state), "vision_model.embeddings.position_ids": torch.arange(5)},
        "our own run": {f"clip.model.{name}": value for name, value in transformers_state(state).items()},
    }[names]
    file = str(tmp_path / "w.safetensors")
    save_file(given, file)
    net = model("transformer", **{"model.backbone.weights": file})
    load_pretrained(net)
    for name, value in net.clip.model.state_dict().items():
        assert torch.equal(value, transformers_state(state)[name]), name
    assert isinstance(net.temporal, FrameTransformer)  # begins with the text transformer
    assert torch.equal(net.temporal.positions[:7], state["positional_embedding"])
    first = net.temporal.transformer.layers[1].state_dict()["mlp.fc1.weight"]
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
    state = openai_state()
    sizes = {name: torch.tensor(1) for name in ("input_resolution", "context_length", "vocab_size")}
    file = str(tmp_path / "ViT-tiny.pt")
    torch.jit.script(Nested({**state, "logit_scale": torch.tensor(4.6)}, sizes)).save(file)
    net = model(**{"model.backbone.weights": file})
    load_pretrained(net)
    for name, value in net.clip.model.state_dict().items():
        assert torch.equal(value, transformers_state(state)[name].half().float()), name


def test_weights_of_another_vocabulary_say_what_to_do(tmp_path: Path) -> None:
    file = str(tmp_path / "w.safetensors")
    save_file({**openai_state(), "token_embedding.weight": torch.zeros(WORDS + 3, 8)}, file)
    with pytest.raises(
        CheckpointError, match=r"has 10 tokens, the data set's vocabulary, .*, has 9.*backbone.tokenizer"
    ):
        load_pretrained(model(**{"model.backbone.weights": file}))
    with pytest.raises(CheckpointError, match="there is no file of weights nowhere"):
        load_pretrained(model(**{"model.backbone.weights": "nowhere"}))


def test_small_frames_and_scales_that_do_not_fit_are_refused() -> None:
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


PUBLISHED = {
    "msrvtt": (12, 32, 20),
    "msvd": (12, 32, 41),
    "didemo": (64, 64, 1),
    "activitynet": (64, 64, 1),
}
"""Frames, words, captions of a training video."""


@pytest.mark.parametrize("data_set", PUBLISHED)
@pytest.mark.parametrize("system", ["clip4clip", "muse-clip"])
def test_frames_words_batches_and_passes(system: str, data_set: str) -> None:
    config = preset(f"{system}-{data_set}")
    frames, words, captions = PUBLISHED[data_set]
    assert isinstance(config.model, Clip4ClipConfig)
    assert config.model.frames.kind == ("muse" if system == "muse-clip" else "mean")
    assert (config.batch.max_frames, config.model.inputs.max_words, config.batch.videos) == (frames, words, 128)
    assert (config.training.epochs, config.training.validate_every) == (5 * captions, captions)
    assert config.optimizer.warmup_share == 0.1
    assert config.optimizer.learning_rate * config.optimizer.backbone_factor == pytest.approx(1e-7)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """Three clips of frames of 40 pixels."""
    folder = tmp_path_factory.mktemp("films")
    rows = ["id,caption,video"]
    for number, count in enumerate((12, 3, 7)):
        grey_video(folder / f"{number}.mp4", [k / 4 for k in range(count)], (64, 48))
        rows.append(f"{number},the man lifts {number},{number}.mp4")
    (folder / "clips.csv").write_text("\n".join(rows))
    given = {"records": "frames", "frame_size": 40, "frame_rate": 4.0, "workers": 0}
    flags = ExtractFlags(str(folder), str(folder / "data"), str(folder / "clips.csv"), **given)  # type: ignore[arg-type]
    (manifest,) = extract(flags).manifests
    return manifest


@pytest.fixture(scope="module")
def small_model(films: Manifest, tmp_path_factory: pytest.TempPathFactory) -> vtr_core.Model:
    torch.manual_seed(0)
    config = with_inputs(override(preset("clip4clip-tiny"), {"batch.max_frames": 5}), films)
    state, words = build_model(config.model).state_dict(), WordTable.load(films).vocabulary
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(locate(str(folder)), Checkpoint(config, state, {}, Progress(step=1), words))
    return vtr_core.load(str(folder), "cpu")


def test_captions_reach_a_pretrained_encoder_as_texts(films: Manifest, tmp_path: Path) -> None:
    """Words that the data set never had have vectors of their own."""
    save_clip(tmp_path)
    config = with_inputs(override(preset("clip4clip-tiny"), {"model.backbone.source": f"hf:{tmp_path}"}), films)
    inner = build_model(config.model)
    load_pretrained(inner)
    words = model_vocabulary(config.model, WordTable.load(films).vocabulary)
    told = embed_words(inner, config, words, ["the man lifts 0", "a red car", "a red dog", ""])
    stored = embed_clips(inner, config, films, words, row_groups(films))
    assert told[0][0] == pytest.approx(stored.vectors[TEXT][0], abs=1e-6)
    assert np.abs(told[0][1] - told[0][2]).max() > 1e-3
    assert told[1].tolist() == [True, True, True, False]
    assert not told[0][3].any()
    reader = training_reader(config.model, films, 0)
    rows = reader.read_arrow(row_groups(films)[0])
    texts = texts_of(as_sequences(rows["tokens"], TEXT_BYTES, TOKEN_DTYPE).vectors.astype(np.int64))
    assert sorted(texts) == [f"the man lifts {number}" for number in range(3)]


def test_given_frames_have_the_vectors_of_evaluation(films: Manifest, small_model: vtr_core.Model) -> None:
    loaded, places = small_model.loaded, row_groups(films)
    stored = embed_clips(loaded.model, loaded.config, films, loaded.vocabulary, places)
    (rows,) = picture_rows(films, places, 99, 99)
    clips = [frames[:kept] for frames, kept in zip(rows.frames, rows.kept, strict=True)]
    assert max(map(len, clips)) > 5 > min(map(len, clips))
    found = small_model.encode_video([clips[0], None, *clips[1:]])
    assert found.present[VIDEO].tolist() == [True, False, True, True]
    assert not found.vectors[VIDEO][1].any()
    assert found.vectors[VIDEO][[0, 2, 3]] == pytest.approx(stored.vectors[VIDEO], abs=1e-6)
    assert small_model.encode_video([None]).present[VIDEO].tolist() == [False]


@pytest.mark.parametrize(
    "clip", [np.zeros((2, 40, 40, 3)), np.zeros((40, 40, 3), np.uint8), np.zeros((2, 40, 31, 3), np.uint8), "a.mp4"]
)
def test_other_arrays_are_refused(small_model: vtr_core.Model, clip: object) -> None:
    with pytest.raises(InputError, match=r"give .*RGB frames"):
        small_model.encode_video([clip])


@pytest.mark.parametrize("freeze", ["half", -1, 1.5])
def test_what_is_frozen_is_a_number_or_all(freeze: object) -> None:
    with pytest.raises(ConfigError, match="give the number of first layers that are not trained, or all"):
        override(preset("clip4clip-tiny"), {"model.backbone.freeze": freeze})
