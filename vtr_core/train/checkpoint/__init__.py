"""Checkpoints of a run, which need nothing else to be read; `load_model` is what scripts and notebooks call."""

import torch

from vtr_core.train.checkpoint.trained_model import LoadedModel, read_model

__all__ = ["LoadedModel", "load_model"]


def load_model(uri: str, device: torch.device | str = "cpu") -> LoadedModel:
    """`read_model` among all systems that are installed: the call without a list of them, for code outside vtr."""
    from vtr_core.systems.all import SYSTEMS

    return read_model(uri, SYSTEMS, device)
