"""Interface of a trained model, independent of where it was loaded from."""

from typing import Protocol, runtime_checkable

from torch import nn

from vtr_core.run.config import TrainConfig
from vtr_core.text.tokens.vocabulary import Vocabulary


@runtime_checkable
class TrainedModel(Protocol):
    """Protocol of a trained model."""

    @property
    def model(self) -> nn.Module:
        """The model."""
        ...

    @property
    def config(self) -> TrainConfig:
        """The configuration of its run."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's vocabulary."""
        ...

    @property
    def concepts(self) -> tuple[str, ...]:
        """The names of its concepts, in the order of its scores; () without a concept space."""
        ...

    @property
    def uri(self) -> str:
        """Its location, for messages."""
        ...
