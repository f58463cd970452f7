"""The capsule network's `Implementation`: a new model, layer by layer, its training and its uses."""

from collections.abc import Mapping
from math import sqrt
from typing import cast

import numpy as np
import torch
from torch import nn

from vtr_core.config.towers import EmRouting, SelfAttentionRouting
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.nn.capsules.dynamic_routing import CapsuleProjection, Dynamic, PrimaryCapsules, SecondaryActivations
from vtr_core.nn.capsules.em_routing import Em
from vtr_core.nn.capsules.routing import SelfAttention, SetTransformer, Unrouted
from vtr_core.nn.initialization import GELU_SIZE, RELU_SIZE, SIGMOID_SIZE, SOFTMAX_SIZE, contrasted_size, keep_size
from vtr_core.systems.capsules.activation_report import responses
from vtr_core.systems.capsules.config import (
    CapsuleNetConfig,
    FullyConnectedConfig,
    JointSpaceSettings,
    SelfAttentionBaselineConfig,
)
from vtr_core.systems.capsules.model import CapsuleNet, FullyConnected, GatedUnit, SelfAttentionBaseline, TokenAttention
from vtr_core.systems.clip_space import CLIP_SPACE, clip_task, predict, signature
from vtr_core.systems.implementation import Implementation


def initialize(model: CapsuleNet | FullyConnected | SelfAttentionBaseline, word_size: float = 1.0) -> None:
    """Initialises the weights of all linear layers; word_size: size of word vectors' values, 1 if learned.

    Other layers keep the initialisation of their class.
    """
    keep_size(model.inputs.words.linear, in_size=word_size)
    match model:
        case CapsuleNet():
            _initialize_capsules(model)
        case FullyConnected():
            for layers in model.layers.values():
                _embedding_layers(cast(nn.Sequential | GatedUnit, layers), model.config.embedding_dim)
        case SelfAttentionBaseline():
            for attention in model.attention.values():
                _attention(cast(TokenAttention, attention), model.config.embedding_dim)


def _linear(layer: nn.Module) -> nn.Linear:
    assert isinstance(layer, nn.Linear)
    return layer


def _embedding_layers(layers: nn.Sequential | GatedUnit, embedding_dim: int) -> None:
    """Initialises a baseline's layers; a gate's logits have size 1."""
    size = contrasted_size(embedding_dim)
    match layers:
        case GatedUnit():
            keep_size(layers.linear, out_size=size / SIGMOID_SIZE)
            keep_size(layers.gate, in_size=size / SIGMOID_SIZE)
        case _:
            keep_size(_linear(layers[0]))
            keep_size(_linear(layers[2]), in_size=RELU_SIZE, out_size=size)


def _attention(attention: TokenAttention, embedding_dim: int) -> None:
    """Initialises attention such that its output has the size of the tokens that it is added to.

    Queries and keys have half that size, less with several heads: the logits of low-dimensional tokens have long tails,
    and those of a head's few dimensions longer ones.
    """
    keep_size(attention.embed)
    keep_size(attention.query_key_value)
    attention.query_key_value.weight.data[: 2 * attention.embed.out_features] *= 0.5 * attention.num_heads**-0.25
    keep_size(attention.attended, in_size=1 / sqrt(attention.num_tokens))
    keep_size(attention.linear, in_size=sqrt(2), out_size=contrasted_size(embedding_dim))


def _initialize_capsules(model: CapsuleNet) -> None:
    config = model.config
    for primary in model.primary.values():
        keep_size(cast(PrimaryCapsules, primary).linear)
    for routing in model.routing.values():
        _routing(routing, config)
    for projection in model.projection.values():
        linear = cast(CapsuleProjection, projection).linear
        shared = linear.in_features if config.share_weights else None
        keep_size(linear, _weighted_pose_size(config), contrasted_size(config.embedding_dim, shared))


def _routing(routing: nn.Module, config: CapsuleNetConfig) -> None:
    """Initialises routing; activation logits have standard deviation 1, so some activations are several times
    others.
    """
    match routing:
        case SelfAttention():
            _self_attention(routing, config)
        case Unrouted():
            keep_size(_linear(routing.mlp[0]), in_size=SIGMOID_SIZE)
            keep_size(_linear(routing.mlp[2]), in_size=GELU_SIZE)
            _activations(routing.activations)
        case SetTransformer():
            _set_transformer(routing, config.num_capsules)
        case Dynamic():
            keep_size(routing.activations.linear, in_size=_pose_size(config))
        case Em():
            pass  # it has no linear layer
        case _:
            raise AssertionError(f"{type(routing).__name__} is no routing")


def _self_attention(routing: SelfAttention, config: CapsuleNetConfig) -> None:
    """Initialises self-attention routing: attention logits have standard deviation gain², so that capsules attend
    differently; values and MLP outputs have size 1.
    """
    assert isinstance(config.routing, SelfAttentionRouting)
    gain = config.routing.initial_gain
    for first, _ in (routing.query, routing.key, routing.value):
        keep_size(_linear(first), in_size=SIGMOID_SIZE)
    for _, second in (routing.query, routing.key):
        keep_size(_linear(second), out_size=gain)
    keep_size(_linear(routing.value[1]), in_size=_attended_size(config.num_capsules))
    keep_size(_linear(routing.mlp[0]))
    keep_size(_linear(routing.mlp[2]), in_size=GELU_SIZE)
    _activations(routing.activations)


def _activations(activations: SecondaryActivations) -> None:
    """Initialises the activations: logits have a standard deviation of about 1 in total.

    log p of a sigmoid has 0.5, so W_p contributes little where that term is present.
    """
    keep_size(activations.linear, out_size=0.3 if activations.carried_presence else 1.0)


def _set_transformer(routing: SetTransformer, num_capsules: int) -> None:
    """Initialises the set transformer such that attention output has the size of what it is added to."""
    keep_size(routing.embed, in_size=SIGMOID_SIZE)
    for block in (routing.primary_block, routing.seed_block):
        keep_size(block.query)
        keep_size(block.key_value)
        block.key_value.weight.data[block.query.out_features :] /= _attended_size(num_capsules)
        keep_size(block.feed_forward, out_size=1 / RELU_SIZE)
    keep_size(routing.activations.linear)


def _attended_size(items: int) -> float:
    """Root mean square of a softmax-weighted mean of `items` independent values of size 1, for logits of
    deviation 1.
    """
    return SOFTMAX_SIZE / sqrt(items)


def _pose_size(config: CapsuleNetConfig) -> float:
    """Root mean square of the poses that f_out reads: squashed poses have a length of almost 1, others size 1."""
    routed = config.projected_poses == "secondary" and config.routing.kind == "dynamic"
    return 1 / sqrt(config.routing.pose_dim) if routed else 1.0


def _weighted_pose_size(config: CapsuleNetConfig) -> float:
    """Root mean square of p̂ᵢxᵢ, p̂ a softmax over the capsules. For EM routing, measured at 4 to 64 capsules."""
    if isinstance(config.routing, EmRouting):
        return 0.55 if config.routing.density == "mean" else float(1.15 * config.num_capsules**0.15)
    scale = config.num_capsules if config.activation_scale == "num_capsules" else 1
    return scale * SOFTMAX_SIZE / config.num_capsules * _pose_size(config)


def build(
    config: JointSpaceSettings, vectors: np.ndarray | None, statistics: Mapping[str, FeatureStatistics] | None
) -> CapsuleNet | FullyConnected | SelfAttentionBaseline:
    """The network of a configuration; vectors: (words, word_dim) of the vocabulary; statistics: of all features."""
    model = _fresh(config)
    if config.initialization == "scaled":
        initialize(model, 1.0 if vectors is None or config.words.encoder is not None else _size(vectors))
    if vectors is not None and config.words.encoder is None:
        model.inputs.load_word_vectors(torch.from_numpy(vectors.copy()))
    if statistics is not None:
        model.inputs.load_statistics(statistics)
    return model


def _fresh(config: JointSpaceSettings) -> CapsuleNet | FullyConnected | SelfAttentionBaseline:
    match config:
        case CapsuleNetConfig():
            return CapsuleNet(config)
        case FullyConnectedConfig():
            return FullyConnected(config)
        case SelfAttentionBaselineConfig():
            return SelfAttentionBaseline(config)
        case _:
            raise AssertionError(f"{type(config).__name__} is no configuration of a capsule network or its baselines")


def _size(vectors: np.ndarray) -> float:
    """Root mean square of given word vectors; 1 where they are all 0."""
    return float(np.sqrt(np.square(vectors, dtype=np.float64).mean())) or 1.0


def _compiles(config: JointSpaceSettings) -> bool:
    """The capsule network with routing by self-attention; other routings and the baselines were never compared, and a
    pretrained encoder is no part of a graph.
    """
    capsules = isinstance(config, CapsuleNetConfig) and config.routing.kind == "self_attention"
    return capsules and config.words.encoder is None


IMPLEMENTATION = Implementation(
    build=build,
    task=clip_task,
    predict=predict,
    signature=signature,
    retrieval=CLIP_SPACE,
    responses=responses,
    compiles=_compiles,
)
