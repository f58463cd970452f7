"""Checkpoints and run folders: writing, finding and reading them.

`load_model` is what everything after training starts from.
"""

from vtr_core.train.checkpoint.trained_model import LoadedModel, load_model

__all__ = ["LoadedModel", "load_model"]
