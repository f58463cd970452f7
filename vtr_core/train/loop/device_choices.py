"""The meaning of the settings' `auto` on a worker's device."""

from typing import assert_never

import torch

from vtr_core.run.config import TrainConfig
from vtr_core.systems.implementation import Implementation


def uses_bf16(config: TrainConfig, device: torch.device) -> bool:
    """The choice of `training.precision`: `auto` is bf16 where a GPU supports it."""
    match config.training.precision:
        case "bf16":
            return True
        case "float32":
            return False
        case "auto":
            return device.type == "cuda" and torch.cuda.is_bf16_supported()
        case other:
            assert_never(other)


def compiles(config: TrainConfig, system: Implementation, device: torch.device) -> bool:
    """The choice of `training.compile`: `auto` is yes on a GPU for models that are known to compile."""
    match config.training.compile:
        case "on":
            return True
        case "off":
            return False
        case "auto":
            return device.type == "cuda" and system.compiles(config.model)
        case other:
            assert_never(other)
