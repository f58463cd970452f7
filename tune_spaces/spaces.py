"""Search spaces by name."""

import textwrap
from collections.abc import Mapping

from vtr_core.config.domains import describe
from vtr_core.errors import ConfigError, nearest
from vtr_core.run.space import Space
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.system import by_name

SPACES: Mapping[str, Space] = by_name(
    ((space.name, space) for system in SYSTEMS for space in system.presets().spaces), "a space"
)


def build_space(name: str) -> Space:
    """The space `name`; ConfigError lists the known ones."""
    if name not in SPACES:
        hint = nearest(name, SPACES, f"spaces: {', '.join(SPACES)}")
        raise ConfigError(f"there is no space {name!r}; {hint}")
    return SPACES[name]


def describe_spaces() -> str:
    """The spaces with their settings, as lines of text."""
    return "\n".join(
        textwrap.fill(
            f"  {name:20}{', '.join(space.parameters)}",
            width=110,
            subsequent_indent=" " * 22,
            break_on_hyphens=False,
        )
        for name, space in SPACES.items()
    )


def describe_space(space: Space) -> str:
    """The settings of a space with their values, one a line."""
    width = max(map(len, space.parameters)) + 2
    lines = []
    for name, parameter in space.parameters.items():
        only = parameter.only_with
        remark = f"  (with {only.name}: {', '.join(map(str, only.values))})" if only else ""
        lines.append(f"  {name:{width}}{describe(parameter.domain)}{remark}")
    return "\n".join(lines)
