"""The presets that `vtr train --help` begins with, and those of every system, which `vtr train --list` prints."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.systems.registry import SYSTEMS
from vtr_core.config.preset_table import Row
from vtr_core.run.presets import PRESETS
from vtr_core.systems.system import System

_WIDTH, _NAME = 110, 28


def starters() -> str:
    """The presets to start with, by the records that they are trained on."""
    rows = [(system.reads, name, row) for system in SYSTEMS for name, row in system.presets().bases.items()]
    shown = [(reads, name, row) for reads, name, row in rows if row.starter]
    lines = []
    for kind in dict.fromkeys(reads for reads, _, _ in shown):
        lines += [f"on {kind}:", *(_line(name, row, 2) for reads, name, row in shown if reads == kind)]
    return "\n".join(lines)


def listing() -> str:
    """All presets: the bases of each system, and the variants whose names follow theirs."""
    return "\n".join(line for system in SYSTEMS for line in ("", *_of_system(system)))[1:]


def as_json() -> Mapping[str, Any]:
    """The same by system, with the names of all presets."""
    return {
        "presets": list(PRESETS),
        "systems": {
            system.name: {
                "trained_on": system.reads,
                **{
                    kind: {name: row.about for name, row in getattr(system.presets(), kind).items()}
                    for kind in ("bases", "variants", "recipes")
                },
            }
            for system in SYSTEMS
        },
    }


def _of_system(system: System) -> Iterator[str]:
    table = system.presets()
    alone = [name for name, row in table.bases.items() if not row.varied]
    but = f" but {', '.join(alone)}" if alone else ""
    yield f"{system.name}, trained on {system.reads}"
    yield from (_line(name, row, 2) for name, row in table.bases.items())
    if table.variants:
        yield f"  variants of each{but}, <preset>-<variant>:"
        yield from (_line(name, row, 4) for name, row in table.variants.items())
    if table.recipes:
        yield "  recipes for all of these, <preset>-<recipe> and <preset>-<recipe>-<variant>:"
        yield from (_line(name, row, 4) for name, row in table.recipes.items())


def _line(name: str, row: Row, indent: int) -> str:
    start = f"{' ' * indent}{name:{_NAME - indent}}"
    return textwrap.fill(row.about, _WIDTH, initial_indent=start, subsequent_indent=" " * _NAME, break_on_hyphens=False)
