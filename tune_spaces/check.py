"""Checks of a search space against a configuration, before a sweep starts."""

from vtr_core.config.domains import Variant, levels
from vtr_core.config.search_space import Space, extremes
from vtr_core.errors import ConfigError
from vtr_core.run.build import check_model
from vtr_core.run.config import TrainConfig


def check_space(space: Space, base: TrainConfig) -> None:
    """ConfigError where a choice or a bound of the space yields an invalid configuration or model."""
    for point in extremes(space):
        try:
            check_model(space.applied(base, point).model)
        except ConfigError as error:
            shown = ", ".join(f"{name} = {value}" for name, value in point.items())
            raise ConfigError(f"{space.name} does not suit this configuration: {error} (at {shown})") from error


def num_weights(config: TrainConfig) -> int:
    """The number of the model's parameters and buffer entries."""
    total = 0
    for shape in check_model(config.model).values():
        count = 1
        for size in shape:
            count *= size
        total += count
    return total


def require_equal_shapes(space: Space, base: TrainConfig) -> None:
    """ConfigError where points of the space differ in weight shapes, so that weights cannot be copied between them."""
    changing = [name for name in space.parameters if len(set(map(str, _shapes(space, name, base)))) > 1]
    if changing:
        flags = " ".join(f"--{_flag(space, name)} VALUE" for name in changing)
        raise ConfigError(
            f"--scheduler pbt copies weights between trials, but {', '.join(changing)} of {space.name} alter their "
            f"shapes; fix them ({flags}), choose others with --only, or use --scheduler asha"
        )


def _shapes(space: Space, name: str, base: TrainConfig) -> list[dict[str, tuple[int, ...]]]:
    """The weight shapes of the models at all choices, or both bounds, of one setting."""
    if space.parameters[name].only_with is not None:
        return []
    values = levels(space.parameters[name].domain, 2)
    return [check_model(space.applied(base, {name: value}).model) for value in values]


def _flag(space: Space, name: str) -> str:
    domain = space.parameters[name].domain
    tagged = isinstance(domain, Variant) and not any(isinstance(value, tuple) for value in domain.values.values())
    kind = ".kind" if tagged else ""
    return f"{name.replace('_', '-')}{kind}"
