"""The settings of a two-tower linear model, and of the loss that goes with it alone."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from vtr_core.config.override import ModelInputs, PositiveInt, Settings
from vtr_core.config.run import ModelConfig

if TYPE_CHECKING:
    from vtr_core.systems.system import System


class LinearConfig(ModelConfig):
    """A linear map of the mean word vector, and one of each feature, into one space."""

    kind: Literal["linear"] = "linear"
    inputs: ModelInputs = ModelInputs(word_dim=32)
    embedding_dim: PositiveInt = 64

    @classmethod
    def system(cls) -> "System":
        """The system of this model."""
        from tests.systems.linear.system import LINEAR

        return LINEAR


class LogisticRankingConfig(Settings):
    """Every wrong pair against the right one, by the logistic loss of the difference of their similarities."""

    kind: Literal["logistic_ranking"] = "logistic_ranking"
    scale: Annotated[float, Field(gt=0.0)] = 10.0
    """What similarities, which are cosines, are multiplied by."""
