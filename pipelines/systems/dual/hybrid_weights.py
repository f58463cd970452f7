"""The published checkpoints of dual encoding (github.com/danieljf24/hybrid_space) by weights' names."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vtr_core.backbones.weights import READ_FAULTS, load_tensors
from vtr_core.config.override import override
from vtr_core.errors import CheckpointError
from vtr_core.run.build import check_model
from vtr_core.run.config import TrainConfig
from vtr_core.text.tokens.vocabulary import NUM_SPECIAL

_PARTS = ("video encoder", "text encoder", "video heads", "text heads")
State = Mapping[str, Tensor]


def read_published(file: str | Path) -> tuple[State, State, State, State]:
    """The four parts of a file; CheckpointError for another file. Tensors alone are unpickled.

    The settings beside them, an argparse.Namespace, are plain values too.
    """
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            content = load_tensors(file)
    except READ_FAULTS as error:
        reason = " ".join(str(error).split())[:200]
        raise CheckpointError(
            f"{file} is no checkpoint that holds tensors and plain values alone ({reason}); save the entry 'model' of "
            "a published one, by torch.save({'model': ...})"
        ) from error
    parts = content.get("model") if isinstance(content, Mapping) else None
    if not isinstance(parts, Sequence) or len(parts) != len(_PARTS) or not all(map(_is_state, parts)):
        raise CheckpointError(f"{file} has no entry 'model' with the weights of {', '.join(_PARTS)}")
    first, second, third, fourth = parts
    return first, second, third, fourth


def published_config(parts: tuple[State, State, State, State], base: TrainConfig, max_words: int) -> TrainConfig:
    """The configuration of a file's model, by the shapes of its weights; the rest is that of `base`."""
    video, text, heads, _ = parts
    latent, concept = _rows(heads, "mapping.fc1.weight"), _rows(heads, "tag_fc.weight")
    changes: dict[str, Any] = {
        "model.compat": "hybrid_space",
        "model.latent_dim": latent,
        "model.num_concepts": concept,
        "model.inputs.features": {"video": _take(video, "rnn.weight_ih_l0", _PARTS[0]).shape[1]},
        "model.inputs.num_words": _take(text, "embed.weight", _PARTS[1]).shape[0] - NUM_SPECIAL,
        "model.inputs.word_dim": _take(text, "embed.weight", _PARTS[1]).shape[1],
        "model.inputs.max_words": max_words,
    }
    for side, state in (("video", video), ("text", text)):
        first = _take(state, "convs1.0.weight", side)
        changes[f"model.{side}.hidden_dim"] = _take(state, "rnn.weight_hh_l0", side).shape[1]
        changes[f"model.{side}.num_filters"] = first.shape[0]
        changes[f"model.{side}.kernel_sizes"] = tuple(weight.shape[2] for weight in _convolutions(state))
    return override(base, changes)


def published_weights(parts: tuple[State, State, State, State], config: TrainConfig) -> dict[str, Tensor]:
    """The weights of a file under our names; CheckpointError where one is missing or of another shape."""
    video, text, video_heads, text_heads = parts
    counted = (_take(video, "rnn.weight_ih_l0", _PARTS[0]).shape[1], config.model.inputs.num_words)
    weights = {
        **_levels(video, "frames.levels"),
        **_levels(text, "words.levels"),
        "words.vectors.weight": _vectors(_take(text, "embed.weight", _PARTS[1])),
        **_heads(video_heads, "video_heads", counted[0]),
        **_heads(text_heads, "text_heads", counted[1]),
        "ranges": torch.zeros(2, 2),
    }
    expected = check_model(config.model)
    for name in sorted(expected.keys() | weights.keys()):
        shape = tuple(weights[name].shape) if name in weights else "missing"
        if expected.get(name, "not there") != shape:
            raise CheckpointError(
                f"{name} is {shape}, the model of the file's sizes {expected.get(name, 'has none')}; only models with "
                "all three levels (concate full) can be taken"
            )
    return weights


def _levels(state: State, name: str) -> dict[str, Tensor]:
    gru = {f"{name}.gru.{key.removeprefix('rnn.')}": value for key, value in state.items() if key.startswith("rnn.")}
    weights = {
        f"{name}.convolutions.{i}.weight": w.squeeze(1).mT.contiguous() for i, w in enumerate(_convolutions(state))
    }
    biases = {f"{name}.convolutions.{i}.bias": _take(state, f"convs1.{i}.bias", name) for i in range(len(weights))}
    return {**gru, **weights, **biases}


def _convolutions(state: State) -> list[Float[Tensor, "filters 1 width hidden"]]:
    count = sum(name.startswith("convs1.") and name.endswith(".weight") for name in state)
    return [_take(state, f"convs1.{i}.weight", "convolutions") for i in range(count)]


def _vectors(embedding: Float[Tensor, "words_and_four dim"]) -> Float[Tensor, "four_and_words dim"]:
    """<pad>, <start>, <end>, <unk>, words in our order: padding, which is 0, words, <start>, <end>, <unk>."""
    padding = torch.zeros_like(embedding[:1])
    return torch.cat([padding, embedding[NUM_SPECIAL:], embedding[1:NUM_SPECIAL]])


def _heads(state: State, name: str, first_level: int) -> dict[str, Tensor]:
    """Both heads of a modality; in a linear layer's columns level 1 moves from the end to the beginning."""
    pairs = (("mapping.fc1", "mapping.bn_1", "latent"), ("tag_fc", "tag_fc_batch_norm", "concept"))
    heads = {}
    for linear, norm, space in pairs:
        if f"{linear}.weight" not in state:
            continue
        weight, place = state[f"{linear}.weight"], f"{name}.{space}"
        heads[f"{place}.linear.weight"] = torch.cat([weight[:, -first_level:], weight[:, :-first_level]], dim=1)
        heads[f"{place}.linear.bias"] = _take(state, f"{linear}.bias", name)
        for ours, theirs in _NORM.items():
            heads[f"{place}.norm.{ours}"] = _take(state, f"{norm}.{theirs}", name)
    return heads


_NORM = {"weight": "weight", "bias": "bias", "mean": "running_mean", "variance": "running_var"}


def _rows(state: State, name: str) -> int | None:
    return state[name].shape[0] if name in state else None


def _take(state: State, name: str, part: str) -> Tensor:
    if name not in state:
        raise CheckpointError(f"the {part} of the file lacks {name}; give a checkpoint of hybrid_space")
    return state[name]


def _is_state(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(tensor, Tensor) for tensor in value.values())
