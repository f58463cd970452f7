"""The model and the task that a configuration names."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vtr_core.config.run import ModelConfig, TrainConfig
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.errors import ConfigError
from vtr_core.run.inputs import check_parts
from vtr_core.systems.implementation import NO_TABLES, LossTables, Task


def build_model(
    config: ModelConfig,
    word_vectors: Float32[np.ndarray, "words word_dim"] | None = None,
    statistics: Mapping[str, FeatureStatistics] | None = None,
) -> nn.Module:
    """A module from a batch to `Embeddings`, its initial weights drawn from torch's global generator.

    word_vectors: pretrained vectors of the vocabulary's words; without them a model that reads words learns its own.
    statistics: of the training data's features, for a model that standardises them; a checkpoint includes them.
    Raises ConfigError where the parts of `config` do not fit together.
    """
    return config.system().implementation().build(config, word_vectors, statistics)


def check_model(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The shapes of the model's weights and buffers by name, without allocating any of them.

    Raises ConfigError where the parts of `config` do not fit together.
    """
    return {name: tuple(tensor.shape) for name, tensor in _sketch(config).state_dict().items()}


def frozen_weights(config: ModelConfig) -> frozenset[str]:
    """The names of the model's weights and buffers that are not trained, without allocating any of them."""
    model = _sketch(config)
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    return frozenset(model.state_dict().keys() - trained)


def _sketch(config: ModelConfig) -> nn.Module:
    build = (
        config.system().implementation().build
    )  # here: modules that were imported below would hold tensors without values
    try:
        with torch.device("meta"), _Unfilled():
            return build(config, None, None)
    except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as error:  # sizes and names torch cannot take
        raise ConfigError(f"the model cannot be built: {error}") from error


_ELEMENTWISE = frozenset({"add", "exp", "expm1", "log", "mul", "neg"})
"""The names of torch functions that initial weights are computed with, value by value."""


class _Unfilled(TorchFunctionMode):
    """Computes no values: on the meta device torch would import its compiler for them, a second or more."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        arguments = kwargs or {}
        if func in (nn.init.normal_, Tensor.normal_):
            return args[0] if args else arguments["tensor"]
        if func is torch.randn:
            return torch.empty(*args, **arguments)
        if func is Tensor.triu:
            return torch.empty_like(args[0])
        tensors = [value for value in args if isinstance(value, Tensor)]
        ordinary = {tensor.dtype for tensor in tensors} == {torch.get_default_dtype()}
        if ordinary and getattr(func, "__name__", None) in _ELEMENTWISE:
            return torch.empty(torch.broadcast_shapes(*(tensor.shape for tensor in tensors)))
        return func(*args, **arguments)


def build_task(config: TrainConfig, rank: int, world: int, tables: LossTables = NO_TABLES) -> Task:
    """The task of `config`'s system for worker `rank` of `world`, with the tables that its loss needs.

    Raises ConfigError for a configuration whose parts do not fit together.
    """
    check_parts(config)
    return config.model.system().implementation().task(config, rank, world, tables)
