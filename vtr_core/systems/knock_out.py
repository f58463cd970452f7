"""Test-time ablation: mechanisms of a trained model that `vtr evaluate --knock-out` switches off."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

Remark = Callable[[], str]
"""Returns a remark on the ablated metrics; callable after they were computed."""
KnockOuts = Mapping[str, Callable[[], AbstractContextManager[Remark]]]
"""Ablations by name: context managers within which the model computes without a mechanism."""
