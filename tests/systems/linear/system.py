"""A two-tower linear model: what `vtr` is told of it. Everything else is imported where it is called."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.systems.linear.config import LinearConfig, LogisticRankingConfig
from vtr_core.systems.system import Evaluation, Presets, System

if TYPE_CHECKING:
    from vtr_core.systems.implementation import Implementation


def _implementation() -> "Implementation":
    from tests.systems.linear.implementation import IMPLEMENTATION

    return IMPLEMENTATION


def _presets() -> Presets:
    from tests.systems.linear.presets import LINEAR_PRESETS

    return LINEAR_PRESETS


def _choice(argv: Sequence[str]) -> None:
    from tests.systems.linear.evaluate import main

    main(argv)


LINEAR = System(
    name="linear",
    configs=(LinearConfig,),
    losses=(LogisticRankingConfig,),
    reads="clips",
    implementation=_implementation,
    evaluations=(Evaluation("choice", "how often a caption is nearer to its own clip than to another", _choice),),
    presets=_presets,
)
