"""Test-time ablation: mechanisms of a trained model that `vtr evaluate --knock-out` switches off."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

Remark = Callable[[], str]
"""A remark on the ablated metrics, available once they were computed."""
KnockOuts = Mapping[str, Callable[[], AbstractContextManager[Remark]]]
"""The mechanisms that can be switched off, by name: the model computes without it within the context."""
