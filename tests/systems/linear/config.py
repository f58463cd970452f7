"""The settings of a two-tower linear model, and of the loss that goes with it alone."""

from typing import Annotated, Literal

from pydantic import Field

from vtr_core.config.settings import ModelInputs, PositiveInt, Settings


class LinearConfig(Settings):
    """A linear map of the mean word vector, and one of each feature, into one space."""

    kind: Literal["linear"] = "linear"
    inputs: ModelInputs = ModelInputs(word_dim=32)
    embedding_dim: PositiveInt = 64


class LogisticRankingConfig(Settings):
    """Every wrong pair against the right one, by the logistic loss of the difference of their similarities."""

    kind: Literal["logistic_ranking"] = "logistic_ranking"
    scale: Annotated[float, Field(gt=0.0)] = 10.0
    """What similarities, which are cosines, are multiplied by."""
