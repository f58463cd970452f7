"""Weights of CLIP and CLIP4Clip, imported."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from torch import Tensor

from pipelines.arguments import run_import
from vtr_core.backbones.clip_weights import renamed_layers, transformers_state
from vtr_core.backbones.weights import load_state
from vtr_core.errors import CheckpointError
from vtr_core.systems.clip4clip.model import Clip4Clip

if TYPE_CHECKING:
    from vtr_core.run.config import TrainConfig


_HEAD_WIDTH = 64
_FRAMES, _POSITIONS = "transformerClip.", "frame_position_embeddings.weight"
_SCALES = ("clip.logit_scale", "logit_scale")
_OTHERS = {
    "cross.": "tightTransf",
    "similarity_dense.": "tightTransf",
    "lstm_visual.": "seqLSTM",
    "clip.visual.conv2.": "patches of several frames",
}
State = Mapping[str, Tensor]


@dataclass(frozen=True)
class PublishedWeights:
    """Weights under transformers' names, and the settings that make their model."""

    clip: State
    frames: State
    """Of seqTransf: `positions` and `transformer.layers.…`; of others nothing."""
    changes: Mapping[str, Any]
    """Settings by dotted name."""

    @property
    def tokens(self) -> int:
        """The size of the vocabulary, start and end included."""
        return len(self.clip["text_model.embeddings.token_embedding.weight"])

    def load_into(self, model: Clip4Clip, file: str) -> None:
        """Put all weights into the model; CheckpointError where one is missing, unknown or of another shape."""
        load_state(model.clip.model, self.clip, file)
        if model.temporal is not None:
            load_state(model.temporal, self.frames, file)


def published(state: State) -> PublishedWeights:
    """The weights of a file and their model's sizes.

    CheckpointError for a model of another kind, and where a weight that tells a size is missing.
    """
    for beginning, kind in _OTHERS.items():
        names = sorted(name for name in state if name.startswith(beginning))
        if names:
            raise CheckpointError(f"it has {names[0]}, so it is of {kind}; only meanP and seqTransf can be taken")
    clip = transformers_state(state)
    frames = renamed_layers(
        {name.removeprefix(_FRAMES): value for name, value in state.items() if name.startswith(_FRAMES)}
    )
    frames = {f"transformer.{name}": value for name, value in frames.items()}
    changes = _sizes(clip)
    if frames:
        count, width = _shape(state, _POSITIONS, 2)
        size = _transformer(frames, "transformer.", width)
        changes["model.frames"] = {
            "kind": "transformer",
            "layers": size["layers"],
            "heads": size["heads"],
            "max_frames": count,
        }
        frames["positions"] = state[_POSITIONS].float()
    scale = next((float(state[name]) for name in _SCALES if name in state), None)
    changes["loss.temperature"] = 0.01 if scale is None else min(1.0, max(0.01, math.exp(-scale)))
    return PublishedWeights(clip, frames, changes)


def _sizes(clip: State) -> dict[str, Any]:
    vision, text = "vision_model.embeddings.", "text_model.embeddings."
    patch = _shape(clip, f"{vision}patch_embedding.weight", 4)
    grid = math.isqrt(_shape(clip, f"{vision}position_embedding.weight", 2)[0] - 1)
    width = _shape(clip, f"{text}token_embedding.weight", 2)[1]
    return {
        "model.backbone.image_size": grid * patch[3],
        "model.backbone.patch": patch[3],
        "model.backbone.vision": _transformer(clip, "vision_model.encoder.", patch[0]),
        "model.backbone.text": _transformer(clip, "text_model.encoder.", width),
        "model.backbone.context": _shape(clip, f"{text}position_embedding.weight", 2)[0],
        "model.backbone.embedding_dim": _shape(clip, "text_projection.weight", 2)[0],
        "model.stored_size": grid * patch[3],
    }


def _transformer(state: State, beginning: str, width: int) -> dict[str, int]:
    layer = re.compile(rf"^{re.escape(beginning)}layers\.(\d+)\.")
    layers = {match[1] for name in state if (match := layer.match(name))}
    if not layers:
        raise CheckpointError(f"it lacks {beginning}layers; give the weights of a CLIP, or of CLIP4Clip")
    if width % _HEAD_WIDTH:
        raise CheckpointError(f"{beginning}layers are {width} wide, no multiple of heads of {_HEAD_WIDTH}")
    return {"width": width, "layers": len(layers), "heads": width // _HEAD_WIDTH}


def _shape(state: State, name: str, dimensions: int) -> tuple[int, ...]:
    if name not in state or state[name].ndim != dimensions:
        shape = f"{tuple(state[name].shape)}" if name in state else "missing"
        raise CheckpointError(f"{name} is {shape}; give the weights of a CLIP with a ViT, or of CLIP4Clip with one")
    return tuple(state[name].shape)


PROJECT = "clip4clip"


@dataclass(frozen=True)
class Clip4ClipFlags:
    """Flags of `vtr import clip4clip`."""

    file: Annotated[str, tyro.conf.Positional]
    """File of weights of CLIP (with OpenAI's, open_clip's or transformers' names) or CLIP4Clip (pytorch_model.bin.N), of
    which only tensors are read; or a folder or hub id (hf:…) of a model of transformers: CLIP, SigLIP, SigLIP 2."""
    out: str = tyro.MISSING
    """New checkpoint folder or URI."""
    tokenizer: str | None = None
    """For a file: its tokenizer, a folder, a tokenizer.json or CLIP's merges (merges.txt,
    bpe_simple_vocab_16e6.txt.gz). Default: the one beside the file, else open_clip's where that is installed."""
    activation: Literal["quick_gelu", "gelu"] = "quick_gelu"
    """For a file: gelu for open_clip's models without quickgelu in their name."""
    max_frames: int = 12
    """Frames of a video; 64 for DiDeMo and ActivityNet."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    run_import(argv, PROJECT, Clip4ClipFlags, import_clip4clip)


def import_clip4clip(flags: Clip4ClipFlags) -> None:
    """Write the checkpoint."""
    from vtr_core.storage import check_writable, locate
    from vtr_core.text.tokens.vocabulary import Vocabulary
    from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, save_checkpoint

    out = locate(flags.out)
    check_writable(out)
    folder = Path(flags.file).is_dir() or flags.file.startswith("hf:")
    config, model = _of_source(flags) if folder else _of_file(flags)
    save_checkpoint(out, Checkpoint.imported(PROJECT, config, model.state_dict(), Vocabulary.utf8()))
    size = model.config.backbone.image_size
    print(f"checkpoint  {out}")
    print(f"next        vtr evaluate {flags.out} --data <data set of --records frames --frame-size {size}>")


def _of_source(flags: Clip4ClipFlags) -> "tuple[TrainConfig, Clip4Clip]":
    from vtr_core.systems.clip4clip.model import load_pretrained

    source = flags.file if flags.file.startswith("hf:") else f"hf:{flags.file}"
    config, model = _built({"model.backbone.source": source}, flags)
    load_pretrained(model)
    return config, model


def _of_file(flags: Clip4ClipFlags) -> "tuple[TrainConfig, Clip4Clip]":
    from vtr_core.backbones.weights import read_state
    from vtr_core.encoders.trainable_source import load_pretrained, tokenizer_near
    from vtr_core.errors import CheckpointError, InputError

    try:
        weights = published(read_state(flags.file))
    except CheckpointError as error:
        raise CheckpointError(f"{flags.file}: {error}") from error
    tokenizer = flags.tokenizer or tokenizer_near(Path(flags.file))
    text = {"model.backbone.tokenizer": tokenizer, "model.backbone.activation": flags.activation}
    config, model = _built({**weights.changes, **text}, flags)
    tokens = model.clip.model.config.text_config.vocab_size
    if tokens != weights.tokens:
        raise InputError(
            f"{tokenizer} makes {tokens} tokens, the model has {weights.tokens}; give the tokenizer that it was "
            "trained with, --tokenizer"
        )
    weights.load_into(model, flags.file)
    load_pretrained(model.clip)
    return config, model


def _built(changes: dict[str, object], flags: Clip4ClipFlags) -> "tuple[TrainConfig, Clip4Clip]":
    """The configuration with what its source or tokenizer decides, and its model."""
    from vtr_core.config.override import override
    from vtr_core.run.build import build_model
    from vtr_core.run.presets import preset
    from vtr_core.systems.clip4clip.config import Clip4ClipConfig
    from vtr_core.systems.clip4clip.model import Clip4Clip

    config = override(preset("clip4clip-msrvtt"), {**changes, "batch.max_frames": flags.max_frames})
    decided = config.model.system().of_source(config.model)
    config = override(config, {**decided, "model.stored_size": decided["model.backbone"]["image_size"]})
    assert isinstance(config.model, Clip4ClipConfig)
    model = build_model(config.model)
    assert isinstance(model, Clip4Clip)
    return config, model
