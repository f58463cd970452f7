"""How many layers of a backbone are not trained."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from vtr_core.config.settings import NonNegativeInt


def _layers_or_all(value: Any) -> Any:
    if value != "all" and not str(value).isdecimal():
        raise ValueError("give the number of first layers that are not trained, or all")
    return value


FrozenLayers = Annotated[NonNegativeInt | Literal["all"], BeforeValidator(_layers_or_all)]
