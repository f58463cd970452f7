"""Completion scripts of the three shells from the words that may follow each command."""

import contextlib
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.commands import COMMANDS, Command
from pipelines.data.command import ACTIONS as DATA_ACTIONS
from pipelines.ingest.ingest_options import ingest_sources
from pipelines.runs.command import ACTIONS as RUN_ACTIONS
from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import ConfigError
from vtr_core.run.presets import PRESETS

_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*(?![\w.-])")


@dataclass(frozen=True)
class Words:
    """What may follow a command."""

    summary: str
    first: tuple[str, ...]
    """The word directly behind it: a preset, a source, an action; () where that is a file."""
    flags: tuple[str, ...]


def words() -> dict[str, Words]:
    """By command."""
    return {command.name: _words(command) for command in COMMANDS}


def _words(command: Command) -> Words:
    first = _first().get(command.name, ())
    tried = [["--help"], *([word, "--help"] for word in first[:1] if command.name != "submit")]
    flags = dict.fromkeys(flag for given in tried for flag in _FLAG.findall(_help(command, given)))
    settings = setting_flags() if command.name in ("train", "sweep") else ()
    return Words(command.summary.splitlines()[0], first, tuple(dict.fromkeys([*flags, *settings])))


def _first() -> Mapping[str, tuple[str, ...]]:
    from pipelines.analyze.command import ANALYSES
    from pipelines.tables.command import PAPERS
    from tune_spaces.spaces import search_spaces

    return {
        "train": (*PRESETS, "--resume", "--config"),
        "sweep": (*search_spaces(SYSTEMS), "--resume"),
        "ingest": tuple(sorted(ingest_sources())),
        "tables": tuple(paper.name for paper in PAPERS),
        "analyze": tuple(analysis.name for analysis in ANALYSES),
        "tagger": ("train", "evaluate"),
        "data": DATA_ACTIONS,
        "runs": RUN_ACTIONS,
        "completion": ("bash", "zsh", "fish"),
    }


def _help(command: Command, argv: list[str]) -> str:
    said = io.StringIO()
    os.environ["COLUMNS"] = "200"  # so that no flag is cut into two lines
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit, ConfigError):
        command.run(argv)
    return said.getvalue()


def setting_flags() -> tuple[str, ...]:
    """`--a.b` of every setting of a training, of all variants."""
    schema = SYSTEMS.schema()
    return tuple(dict.fromkeys(f"--{name.replace('_', '-')}" for name in _settings(schema, schema["$defs"], "")))


def _settings(part: Mapping[str, Any], known: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, value in part.get("properties", {}).items():
        inner = [known[one] for one in _named(value)]
        if not inner or any("properties" not in one for one in inner):
            yield f"{prefix}{name}"
        for one in inner:
            yield from _settings(one, known, f"{prefix}{name}.")


def _named(value: Mapping[str, Any]) -> list[str]:
    """The classes of a setting's values."""
    choices = [value, *value.get("anyOf", []), *value.get("oneOf", [])]
    return [choice["$ref"].rpartition("/")[2] for choice in choices if "$ref" in choice]


_BASH = """\
# vtr completion bash
_vtr() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" first= flags=
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    [ "$COMP_CWORD" -eq 2 ] && flags="$first $flags"
    if [ "$COMP_CWORD" -eq 2 ] && [ -n "$first" ] || [[ "$word" == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$word"))
    fi
}}
complete -o default -F _vtr vtr
"""
_ZSH = """\
#compdef vtr
# vtr completion zsh
_vtr() {{
    local -a commands first flags
    commands=({described})
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    case "$words[2]" in
{cases}
    esac
    if (( CURRENT == 3 )) && (( $#first )); then
        compadd -a first
    fi
    if [[ "$words[CURRENT]" == -* ]]; then
        compadd -a flags
    else
        _files
    fi
}}
if [ "$funcstack[1]" = "_vtr" ]; then _vtr "$@"; else compdef _vtr vtr; fi
"""


def bash(words: Mapping[str, Words]) -> str:
    """For bash: files where nothing else fits."""
    cases = [
        f"        {name}) first='{_joined(one.first)}' flags='{_joined(one.flags)}' ;;" for name, one in words.items()
    ]
    return _BASH.format(commands=_joined([*words, "--help", "--version", "--quiet"]), cases="\n".join(cases))


def zsh(words: Mapping[str, Words]) -> str:
    """For zsh, with the summaries of commands."""
    described = " ".join(f"'{name}:{_quoted(one.summary).replace(':', ' -')}'" for name, one in words.items())
    cases = [
        f"        {name}) first=({_joined(one.first)}) flags=({_joined(one.flags)}) ;;" for name, one in words.items()
    ]
    return _ZSH.format(described=described, cases="\n".join(cases))


def fish(words: Mapping[str, Words]) -> str:
    """For fish: a line for each command, and one for each of its words."""
    lines = ["# vtr completion fish", "complete -c vtr -n __fish_use_subcommand -f -a '--help --version --quiet'"]
    for name, one in words.items():
        here = f"complete -c vtr -n '__fish_seen_subcommand_from {name}'"
        lines.append(f"complete -c vtr -n __fish_use_subcommand -f -a {name} -d '{_quoted(one.summary)}'")
        lines += [f"{here} -a '{_joined(one.first)}'"] if one.first else []
        lines += [f"{here} -l {flag.removeprefix('--')}" for flag in one.flags]
    return "\n".join([*lines, ""])


def _joined(words: Iterable[str]) -> str:
    return " ".join(words)


def _quoted(text: str) -> str:
    """Inside single quotes of a shell."""
    return text.replace("'", "")


SCRIPTS: Mapping[str, Callable[[Mapping[str, Words]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""By the name of the shell."""
