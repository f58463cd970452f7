"""The published checkpoints of CLIP4Clip (github.com/ArrowLuo/CLIP4Clip) by the names of their weights.

`clip.…` is OpenAI's CLIP; seqTransf has `transformerClip.…` over the frames and `frame_position_embeddings.weight`
beside it. Its LayerNorms over the frames divide by √(variance + 10⁻¹²), ours by √(variance + 10⁻⁵); all else is equal.
Heads are 64 wide, as there. seqLSTM (`lstm_visual.…`), tightTransf (`cross.…`, `similarity_dense.…`) and patches of
several frames (`clip.visual.conv2.…`) have no counterpart here.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from vtr_core.backbones.clip_weights import clip_state
from vtr_core.config.override import override
from vtr_core.errors import CheckpointError
from vtr_core.nn.clip.clip import NUM_SPECIAL
from vtr_core.run.build import check_model
from vtr_core.run.config import TrainConfig

_HEAD_WIDTH = 64
_CLIP, _FRAMES, _POSITIONS = "clip.", "transformerClip.", "frame_position_embeddings.weight"
_SCALE = "clip.logit_scale"
_OTHERS = {
    "cross.": "tightTransf",
    "similarity_dense.": "tightTransf",
    "lstm_visual.": "seqLSTM",
    "clip.visual.conv2.": "patches of several frames",
}
_SHOWN = 10
State = Mapping[str, Tensor]


def published_config(state: State, base: TrainConfig) -> TrainConfig:
    """The configuration of a checkpoint's model, by the shapes of its weights; the rest is that of `base`.

    CheckpointError for a model of another kind, and where a weight that tells a size is missing.
    """
    for beginning, kind in _OTHERS.items():
        found = sorted(name for name in state if name.startswith(beginning))
        if found:
            raise CheckpointError(f"it has {found[0]}, so it is of {kind}; only meanP and seqTransf can be taken")
    patch, words = _shape(state, "clip.visual.conv1.weight", 4), _shape(state, "clip.token_embedding.weight", 2)
    grid = math.isqrt(_shape(state, "clip.visual.positional_embedding", 2)[0] - 1)
    text = _transformer(state, "clip.transformer.", words[1])
    positions = _shape(state, "clip.positional_embedding", 2)[0]
    changes: dict[str, Any] = {
        "model.backbone.image_size": grid * patch[3],
        "model.backbone.patch": patch[3],
        "model.backbone.vision": _transformer(state, "clip.visual.transformer.", patch[0]),
        "model.backbone.text": text,
        "model.backbone.context": positions,
        "model.backbone.embedding_dim": _shape(state, "clip.text_projection", 2)[1],
        "model.inputs.num_words": words[0] - NUM_SPECIAL,
        "model.stored_size": grid * patch[3],
        "loss.temperature": min(1.0, max(0.01, math.exp(-float(state[_SCALE])))) if _SCALE in state else 0.01,
    }
    if any(name.startswith(_FRAMES) for name in state):
        frames, width = _shape(state, _POSITIONS, 2)
        size = _transformer(state, _FRAMES, width)
        held = {"layers": size["layers"], "heads": size["heads"], "max_frames": frames}
        changes["model.frames"] = {"kind": "transformer", **held}
    return override(base, changes)


def published_weights(state: State, config: TrainConfig) -> dict[str, Tensor]:
    """The weights under our names; CheckpointError names each that is missing, unknown or of another shape."""
    found = {f"clip.{name}": value for name, value in clip_state(state).items()}
    for name, value in state.items():
        if name.startswith(_FRAMES):
            found[f"temporal.transformer.{name.removeprefix(_FRAMES)}"] = value.float()
        elif name == _POSITIONS:
            found["temporal.positions"] = value.float()
        elif not name.startswith(_CLIP):
            found[name] = value
    expected = check_model(config.model)
    faults = [fault for name in sorted(expected.keys() | found.keys()) if (fault := _fault(name, found, expected))]
    if faults:
        more = f" and {len(faults) - _SHOWN} others" if len(faults) > _SHOWN else ""
        raise CheckpointError(f"weights do not fit the model of its sizes: {'; '.join(faults[:_SHOWN])}{more}")
    return found


def _fault(name: str, found: State, expected: Mapping[str, tuple[int, ...]]) -> str | None:
    if name not in found:
        return f"{_theirs(name)} is missing"
    if name not in expected:
        return f"{_theirs(name)} is unknown"
    shape = tuple(found[name].shape)
    return None if shape == expected[name] else f"{_theirs(name)} is {shape}, not {expected[name]}"


def _theirs(name: str) -> str:
    """The published name of a weight of ours."""
    return _POSITIONS if name == "temporal.positions" else name.replace("temporal.transformer.", _FRAMES)


def _transformer(state: State, beginning: str, width: int) -> dict[str, int]:
    layer = re.compile(rf"^{re.escape(beginning)}resblocks\.(\d+)\.")
    layers = {match[1] for name in state if (match := layer.match(name))}
    if not layers:
        raise CheckpointError(f"it lacks {beginning}resblocks; give pytorch_model.bin of CLIP4Clip")
    if width % _HEAD_WIDTH:
        raise CheckpointError(f"{beginning}resblocks are {width} wide, no multiple of heads of {_HEAD_WIDTH}")
    return {"width": width, "layers": len(layers), "heads": width // _HEAD_WIDTH}


def _shape(state: State, name: str, dimensions: int) -> tuple[int, ...]:
    if name not in state or state[name].ndim != dimensions:
        what = f"{tuple(state[name].shape)}" if name in state else "missing"
        raise CheckpointError(f"{name} is {what}; give pytorch_model.bin of CLIP4Clip with a ViT")
    return tuple(state[name].shape)
