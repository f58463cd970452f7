"""The published checkpoints of CLIP4Clip (github.com/ArrowLuo/CLIP4Clip) by their weights' names."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from vtr_core.backbones.clip_weights import renamed_layers, transformers_state
from vtr_core.backbones.weights import load_state
from vtr_core.errors import CheckpointError
from vtr_core.systems.clip4clip.model import Clip4Clip

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
