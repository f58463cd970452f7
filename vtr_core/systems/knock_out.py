"""What `vtr evaluate --knock-out` switches off in a trained model, to see what a mechanism is worth."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

Remark = Callable[[], str]
"""What is worth saying of figures without a mechanism, once they were computed."""
KnockOuts = Mapping[str, Callable[[], AbstractContextManager[Remark]]]
"""What can be switched off in a trained model, by name: within the context the model computes without it."""
