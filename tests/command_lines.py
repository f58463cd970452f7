"""Every command with its flags and their defaults, every setting of a training, every preset, as the parsers have them.

python -m tests.command_lines      writes tests/command_lines.txt anew, which tests/test_fixed_names.py holds fast
"""

import contextlib
import io
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any
from unittest.mock import patch

import tyro

from pipelines.analyze.command import ANALYSES
from pipelines.cli import run
from pipelines.commands import COMMANDS
from pipelines.data import ACTIONS as DATA_ACTIONS
from pipelines.evaluate.command import TASKS
from pipelines.ingest.ingest_options import ingest_sources
from pipelines.runs import ACTIONS as RUN_ACTIONS
from pipelines.systems.registry import SYSTEMS
from pipelines.tables.command import PAPERS
from tune_spaces.spaces import search_spaces
from vtr_core.config.override import Settings
from vtr_core.errors import ConfigError
from vtr_core.run.config import TrainConfig

FILE = Path(__file__).with_suffix(".txt")
_INNER: Mapping[str, list[list[str]]] = {
    "analyze": [[analysis.name] for analysis in ANALYSES],
    "data": [[action] for action in DATA_ACTIONS],
    "evaluate": [["--task", task.name] for task in TASKS],
    "import": [["weights"], *([one.name] for system in SYSTEMS for one in system.imports)],
    "ingest": [[name, *kind] for name in sorted(ingest_sources()) for kind in ([], ["--records", "videos"])],
    "runs": [[action] for action in RUN_ACTIONS],
    "sweep": [[next(iter(search_spaces(SYSTEMS)))], ["--resume"]],
    "tables": [[paper.name] for paper in PAPERS],
    "tagger": [["evaluate"]],
    "train": [["capsule-howto"], ["--resume"]],
}
"""What follows a command's name where flags depend on it."""


def lines() -> list[str]:
    """What the file should hold."""
    flags = [line for command in COMMANDS for line in _command(command.name)]
    return [*flags, *_settings(), "spaces", *_indented(search_spaces(SYSTEMS)), "presets", *_indented(_presets())]


def _command(name: str) -> Iterator[str]:
    """A command's flags: those that are the same whatever follows its name, then the others."""
    if name not in _INNER:
        yield from (f"vtr {name}", *_indented(_flags([name])))
        return
    found = {" ".join([name, *words]): _flags([name, *words]) for words in _INNER[name]}
    shared = [flag for flag in next(iter(found.values())) if all(flag in flags for flags in found.values() if flags)]
    yield from (f"vtr {name} …", *_indented(shared))
    before: list[str] = []
    for words, flags in found.items():
        if flags not in ([], before):
            yield from (f"vtr {words}", *_indented(flag for flag in flags if flag not in shared))
        before = flags


def _flags(words: Sequence[str]) -> list[str]:
    """The flags that `--help` after these words shows, but a preset's settings; none where there is no such command."""
    found: list[str] = []
    of_preset = set(TrainConfig.model_fields) if words[0] in ("train", "sweep") and words[1] != "--resume" else set()

    def cli(options: Any, args: Sequence[str], config: Any, **others: Any) -> Any:
        if "--help" not in args:
            return original(options, args=args, config=config, **others)
        found.extend(_of_parser(options, config, of_preset))
        raise SystemExit(0)

    original = tyro.cli
    with (
        patch("tyro.cli", cli),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(ConfigError, SystemExit),
    ):
        run(words[0], [*words[1:], "--help"])
    return found


def _of_parser(options: Any, config: Any, of_preset: Set[str]) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        parser = tyro.extras.get_parser(options, config=config)
    for action in parser._actions:
        name = " ".join(action.option_strings) or f"<{action.dest.rpartition('.')[2]}>"
        if name == "-h --help" or _is_setting(name, of_preset):
            continue
        values = " ".join(action.metavar) if isinstance(action.metavar, tuple) else action.metavar or ""
        _, told, default = (action.help or "").rpartition("(default: ")
        noted = f"{told}{default}" if told else "(required)"
        yield " ".join(f"{name} {values} {noted}".split())


def _is_setting(flag: str, of_preset: Set[str]) -> bool:
    """Whether a flag is one of the preset's settings; a group of settings has no flag of its own, but `--concepts` is
    one of the command beside the group's `--concepts.parts`."""
    group, dot, _ = flag.removeprefix("--").replace("-", "_").partition(".")
    return group in of_preset and (bool(dot) or not isinstance(TrainConfig.model_fields[group].default, Settings))


def _presets() -> Iterator[str]:
    """The rows that the names of presets are made of, by system."""
    for system in SYSTEMS:
        table = system.presets()
        yield from (name if row.varied else f"{name} (without variants)" for name, row in table.bases.items())
        yield from (f"<{system.name}>-{name}" for name in table.variants)
        yield from (f"<{system.name}>-{name}[-<variant>]" for name in table.recipes)


def _settings() -> Iterator[str]:
    """The configuration's classes, and the settings of each."""
    schema = SYSTEMS.schema()
    classes = {"TrainConfig": schema["properties"]}
    classes |= {name: found["properties"] for name, found in sorted(schema["$defs"].items())}
    for name, properties in classes.items():
        yield f"settings {name}"
        for setting, value in properties.items():
            yield f"  {setting} {_kinds(value)} {_default(value, classes)}"


def _default(value: Mapping[str, Any], classes: Mapping[str, Mapping[str, Any]]) -> str:
    """A setting's default; `Name()` for a class with its own defaults."""
    if "default" not in value:
        return "(required)"
    for name in _kinds(value).split("|"):
        if name in classes and value["default"] == {
            n: v["default"] for n, v in classes[name].items() if "default" in v
        }:
            return f"{name}()"
    return repr(value["default"])


def _kinds(value: Mapping[str, Any]) -> str:
    """The types that a setting may have."""
    for choice in ("anyOf", "oneOf"):
        if choice in value:
            return "|".join(_kinds(one) for one in value[choice])
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    if "const" in value or "enum" in value:
        return "|".join(map(str, value.get("enum") or [value["const"]]))
    if "additionalProperties" in value or "items" in value or "prefixItems" in value:
        inner = value.get("items") or value.get("additionalProperties")
        return f"{value['type']}[{_kinds(inner)}]" if isinstance(inner, Mapping) else str(value["type"])
    return str(value.get("type", "any"))


def _indented(found: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in found]


if __name__ == "__main__":
    FILE.write_text("\n".join([*lines(), ""]))
