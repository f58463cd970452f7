"""Presets as help shows them: those to start with, all by system, and the settings of one."""

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import fill
from typing import Annotated, Any, TypeAlias, get_args

import tyro
from tyro.constructors import StructFieldSpec

from pipelines.arguments import print_help
from pipelines.systems.registry import SYSTEMS
from vtr_core.config.override import Settings
from vtr_core.config.run import Row, TrainConfig, loss_kinds
from vtr_core.run.presets import PRESETS
from vtr_core.systems.system import System

ALL = "--help-all"
"""The word that asks for all settings."""
_WIDTH, _COUNT = 110, 20
_OF_EVERY_TRAINING = (
    "scaling.workers",
    "scaling.device",
    "batch.videos",
    "batch.clips_per_video",
    "training.epochs",
    "training.max_steps",
    "training.validate_every",
    "training.precision",
    "optimizer.learning_rate",
    "optimizer.warmup_steps",
    "seed",
)
_NO_CHOICE = ("preset", "model.inputs")
"""The preset's name, and what a run takes from its data."""
Kinds: TypeAlias = Mapping[str, Sequence[type[Settings]]]
"""The classes that a group may be of, by its dotted name; those of several."""


def print_preset_help(prog: str, flags: type, config: TrainConfig, everything: bool) -> None:
    """Print the help of a command's flags and of a configuration's settings: the most used, or all of its system."""
    unread, kinds = _unread(config), dict(_kinds(config))
    single = {name for name, _ in _paths(config) if name.endswith(".kind") and name.removesuffix(".kind") not in kinds}
    hidden = (*_NO_CHOICE, *unread, *single)
    paths = {name: path for name, path in _paths(config) if not any(f"{name}.".startswith(f"{h}.") for h in hidden)}
    chosen = list(paths) if everything else _most_used(config, paths)
    steps = {step for name in chosen for step in paths[name]}

    def shown(owner: Any, flag: StructFieldSpec) -> StructFieldSpec | None:
        if not (isinstance(owner, type) and issubclass(owner, Settings)):
            return None if owner is flags and flag.name in unread else flag
        if (owner, flag.name) not in steps:
            return None
        if flag.name == "kind":
            names = next(map(_kind, classes) for classes in kinds.values() if owner in classes)
            return _with_values(flag, f"{{{','.join(names)}}}")
        absent = _classes(flag.type) if flag.default is None else []
        return (
            _with_values(flag, "{None}|NAME" if "name" in absent[0].model_fields else "{None}|JSON") if absent else flag
        )

    print_help(prog, flags, config, shown=shown)
    rest = f"{prog} {ALL} shows all, and what each .kind means"
    print("\n".join(_explained(kinds)) if everything else f"the {_COUNT} most used of {len(paths)} settings; {rest}")


def _with_values(flag: StructFieldSpec, values: str) -> StructFieldSpec:
    """A flag that takes what `values` says: a kind, or a group that is absent, as JSON or by its name."""
    text: Any = Annotated[str | None, tyro.conf.arg(metavar=values)]
    return replace(flag, type=text)


def _most_used(config: TrainConfig, names: Collection[str]) -> list[str]:
    """Those of `names` that help shows first: of every training, of the system, and others of its model and loss."""
    own = config.model.system().presets().most_used
    further = sorted((name for name in names if name.startswith(("model.", "loss."))), key=lambda name: name.count("."))
    return [name for name in dict.fromkeys((*_OF_EVERY_TRAINING, *own, *further)) if name in names][:_COUNT]


def _unread(config: TrainConfig) -> set[str]:
    """Settings and groups that every configuration has, and that only models of other systems read."""
    system = config.model.system()
    settings = {name for other in SYSTEMS for name in other.presets().own_settings}
    return settings.difference(system.presets().own_settings) | ({"captions"} if system.reads == "images" else set())


def _paths(config: Settings, above: str = "") -> Iterator[tuple[str, list[tuple[type, str]]]]:
    for name, value in config:
        step = (type(config), name)
        if isinstance(value, Settings):
            for inner, path in _paths(value, f"{above}{name}."):
                yield inner, [step, *path]
        else:
            yield f"{above}{name}", [step]


def _kinds(config: Settings, above: str = "") -> Iterator[tuple[str, Sequence[type[Settings]]]]:
    """The groups of several kinds, each with the classes of those that can stand beside the configuration's model."""
    for name, field in type(config).model_fields.items():
        value, classes = getattr(config, name), _classes(field.annotation)
        if isinstance(config, TrainConfig) and name in ("model", "loss"):
            classes = config.model.system().configs if name == "model" else loss_kinds(config.model)
        if isinstance(value, Settings):
            if len(classes) > 1:
                yield f"{above}{name}", classes
            yield from _kinds(value, f"{above}{name}.")


def _classes(annotation: object) -> Sequence[type[Settings]]:
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return [annotation]
    return [cls for part in get_args(annotation) for cls in _classes(part)]


def _kind(cls: type[Settings]) -> str:
    return str(cls.model_fields["kind"].default)


def _explained(kinds: Kinds) -> Iterator[str]:
    if kinds:
        yield "kinds, each with settings of its own:"
    for name, classes in kinds.items():
        yield from ("", f"  --{name.replace('_', '-')}.kind")
        for cls in classes:
            settings = ", ".join(name.replace("_", "-") for name in cls.model_fields if name != "kind")
            text = f"{_kind(cls)}: {' '.join((cls.__doc__ or '').split())}{f' ({settings})' if settings else ''}"
            yield fill(text, _WIDTH, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False)


_LIST_WIDTH, _NAME = 110, 28


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
    return textwrap.fill(
        row.about, _LIST_WIDTH, initial_indent=start, subsequent_indent=" " * _NAME, break_on_hyphens=False
    )
