"""Search spaces by name, what help says of them, and whether they suit a configuration."""

import math
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from vtr_core.config.search_space import Space, Variant, extremes
from vtr_core.errors import ConfigError, nearest
from vtr_core.systems.system import Systems, by_name

if TYPE_CHECKING:
    from vtr_core.run.config import TrainConfig


def search_spaces(systems: Systems) -> Mapping[str, Space]:
    """The search spaces of all systems; ConfigError where two have one of the same name."""
    return by_name(((space.name, space) for system in systems for space in system.presets().spaces), "a space")


def build_space(name: str, systems: Systems) -> Space:
    """The space `name` of one of the systems; ConfigError lists the known ones."""
    spaces = search_spaces(systems)
    if name not in spaces:
        hint = nearest(name, spaces, f"spaces: {', '.join(spaces)}")
        raise ConfigError(f"there is no space {name!r}; {hint}")
    return spaces[name]


def describe_spaces(systems: Systems) -> str:
    """The spaces with their settings, as lines of text."""
    return "\n".join(
        textwrap.fill(
            f"  {name:20}{', '.join(space.parameters)}",
            width=110,
            subsequent_indent=" " * 22,
            break_on_hyphens=False,
        )
        for name, space in search_spaces(systems).items()
    )


def describe_space(space: Space) -> str:
    """The settings of a space with their values, one a line."""
    width = max(map(len, space.parameters)) + 2
    lines = []
    for name, parameter in space.parameters.items():
        only = parameter.only_with
        remark = f"  (with {only.name}: {', '.join(map(str, only.values))})" if only else ""
        lines.append(f"  {name:{width}}{parameter.domain}{remark}")
    return "\n".join(lines)


def check_space(space: Space, base: "TrainConfig") -> None:
    """ConfigError where a choice or a bound of the space yields an invalid configuration or model."""
    from vtr_core.run.build import check_model  # torch, which help does not need

    for point in extremes(space):
        try:
            check_model(space.applied(base, point).model)
        except ConfigError as error:
            shown = ", ".join(f"{name} = {value}" for name, value in point.items())
            raise ConfigError(f"{space.name} does not suit this configuration: {error} (at {shown})") from error


def num_weights(config: "TrainConfig") -> int:
    """The number of the model's parameters and buffer entries."""
    from vtr_core.run.build import check_model

    return sum(math.prod(shape) for shape in check_model(config.model).values())


def require_equal_shapes(space: Space, base: "TrainConfig") -> None:
    """ConfigError where points of the space differ in weight shapes, so that weights cannot be copied between them."""
    changing = [name for name in space.parameters if len(set(map(str, _shapes(space, name, base)))) > 1]
    if changing:
        flags = " ".join(f"--{_flag(space, name)} VALUE" for name in changing)
        raise ConfigError(
            f"--scheduler pbt copies weights between trials, but {', '.join(changing)} of {space.name} alter their "
            f"shapes; fix them ({flags}), choose others with --only, or use --scheduler asha"
        )


def _shapes(space: Space, name: str, base: "TrainConfig") -> list[dict[str, tuple[int, ...]]]:
    """The weight shapes of the models at all choices, or both bounds, of one setting."""
    from vtr_core.run.build import check_model

    if space.parameters[name].only_with is not None:
        return []
    values = space.parameters[name].domain.levels(2)
    return [check_model(space.applied(base, {name: value}).model) for value in values]


def _flag(space: Space, name: str) -> str:
    domain = space.parameters[name].domain
    tagged = isinstance(domain, Variant) and not any(isinstance(value, tuple) for value in domain.values.values())
    kind = ".kind" if tagged else ""
    return f"{name.replace('_', '-')}{kind}"
