"""A trained model wherever it came from, its signature, and what it can be asked."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32
from torch import nn

from vtr_core.config.run import TrainConfig
from vtr_core.errors import ConfigError
from vtr_core.systems.system import System, Systems
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

    @property
    def systems(self) -> Systems:
        """The systems among which its own was found, for messages that name others."""
        ...


def lacking(loaded: TrainedModel, use: str, offers: Callable[[System], bool]) -> ConfigError:
    """States that `use` needs a model of a system that `offers` it, which models those are, and which one this is."""
    model = loaded.config.model
    able = [system for system in loaded.systems if offers(system)]
    kinds = " or ".join(repr(kind) for system in able for kind in system.kinds)
    example = next(iter(able[0].presets().bases))
    return ConfigError(
        f"{loaded.uri} is of a {model.kind!r} model, for which there are {model.system().used_by}; "
        f"{use} needs one of {kinds}, such as vtr train {example} makes"
    )


ColumnKind = Literal["text", "integers", "floats", "doubles", "frames"]
"""A cell is a text, a list of numbers, or a list of lists of doubles: a video's frames."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    kind: ColumnKind
    required: bool = True
    """Whether every table has it, and every row a value."""


@dataclass(frozen=True)
class Signature:
    """The columns of the tables that a registered model takes and returns, and its description for MLflow's page."""

    description: str
    example_input: str
    """The arguments of pandas.DataFrame in the page's example."""
    example_output: str | None
    """The output column that the page's example selects (None: all)."""
    inputs: tuple[Column, ...]
    outputs: tuple[Column, ...]
    example_row: Mapping[str, list[Any]]
    """A valid input row, by column; feature vectors have the right length."""


@dataclass(frozen=True)
class CaptionedVideos:
    """Generated captions, references (possibly none), and whether the video has frames, by video id in file order."""

    hypotheses: dict[str, str] = field(default_factory=dict)
    references: dict[str, tuple[str, ...]] = field(default_factory=dict)
    has_frames: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Descriptions:
    """Captions of a data set, and a page of some of them."""

    videos: CaptionedVideos
    page: str
    """HTML: videos from the best to the worst caption, with their references."""
    num_shown: int


Units = Float32[np.ndarray, " units"]


@dataclass(frozen=True)
class Responses:
    """Every unit's activation, as a multiple of its mean over the data set: 1 is no more than on any other item."""

    names: Mapping[str, tuple[str, ...]]
    """By modality, `text` among them, the units' names in order."""
    texts: Float32[np.ndarray, "texts units"]
    items: Mapping[str, Mapping[str, Units]]
    """By item id, then by each modality that the item has."""


Remark = Callable[[], str]
"""Returns a remark on the ablated metrics; callable after they were computed."""
KnockOuts = Mapping[str, Callable[[], AbstractContextManager[Remark]]]
"""Ablations by name: context managers within which the model computes without a mechanism."""


@dataclass(frozen=True)
class PairDecision:
    """The distance of two files, and the threshold up to which they count as the same."""

    distance: float
    threshold: float
