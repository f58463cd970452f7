"""The union of all systems' model configurations, and the questions that the rest of the code asks of one."""

import operator
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import Field

from vtr_core.config.settings import ModelInputs, Settings
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.system import System

_SYSTEM_OF: dict[type[Settings], System] = {config: system for system in SYSTEMS for config in system.configs}

if TYPE_CHECKING:

    class ModelConfig(Protocol):
        """Interface of a model's configuration in code that knows no system."""

        @property
        def kind(self) -> str:
            """The tag of the model in the union."""
            ...

        @property
        def inputs(self) -> ModelInputs:
            """Features and vocabulary of the training data."""
            ...
else:
    ModelConfig = Annotated[reduce(operator.or_, _SYSTEM_OF), Field(discriminator="kind")]
    """The union of all systems' models, tagged by `kind`."""


def default_model() -> ModelConfig:
    """The model of an empty configuration: the first model of the first system."""
    model: ModelConfig = SYSTEMS[0].configs[0]()  # type: ignore[assignment]
    return model


def system_of(model: ModelConfig) -> System:
    """The system that a model belongs to."""
    return _SYSTEM_OF[type(model)]  # type: ignore[index]


def trained_vectors(model: ModelConfig) -> str | None:
    """The dotted name of the setting that makes word vectors trainable, which is set for data without vectors.

    None for a model that reads no pretrained word vectors.
    """
    return system_of(model).trained_vectors(model)


def reads_videos(model: ModelConfig) -> bool:
    """Whether the model reads whole videos with their frames, as opposed to clips."""
    return system_of(model).records(model) == "videos"


def reads_images(model: ModelConfig) -> bool:
    """Whether the model reads images of subjects."""
    return system_of(model).records(model) == "images"
