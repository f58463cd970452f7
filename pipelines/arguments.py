"""Command lines: flags by tyro, subcommands, `--a.b value` as changes to a configuration, results as JSON."""

import contextlib
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import field, make_dataclass, replace
from typing import Annotated, Any, Protocol, TypeAlias, TypeVar, get_type_hints

import tyro
from pydantic import ValidationError
from tyro.constructors import ConstructorRegistry, StructConstructorSpec, StructFieldSpec, StructTypeInfo

from pipelines.commands import HELP_WORDS
from vtr_core.config.data_sets import JOINED
from vtr_core.config.override import describe, same_end, setting_names
from vtr_core.errors import ConfigError, nearest
from vtr_core.json_text import parse_json
from vtr_core.systems.system import Subcommand

T = TypeVar("T")
U = TypeVar("U")
_MARKERS = (tyro.conf.AvoidSubcommands, tyro.conf.FlagCreatePairsOff)
_PLAIN_SETTINGS = ("seed", "on_bad_shard")
"""Top-level settings of a run, outside any group."""
_FRAME = re.compile(r"[╭╮╰╯│─]+")
_REMARKS = (
    re.compile(r"\[type=.*?\]"),
    re.compile(r"For further information visit \S+"),
    re.compile(r"Argument helptext: .*$"),
    re.compile(r"For full helptext,? (run|see):? .*$"),
    re.compile(r"^(Required options|Value error|Parsing error|Invalid choice) "),
)
_UNREADABLE = re.compile(
    r"Error parsing (?P<flag>--\S+): Could not find valid parse for arguments: \[(?P<given>.*?)\] "
    r"Argument helptext: \S+ (?P<allowed>[^a-z(]+)(?![a-z])"
)
"""What tyro says of values that are not of the type of a flag of several, with the metavar of what it takes."""


def parse(options: type[T], argv: Sequence[str], prog: str) -> T:
    """An instance of the dataclass `options` from `argv`; unknown flags are errors."""
    parsed, rest = _tyro(options, argv, prog)
    if rest:
        raise unknown_flag(rest[0], prog, options)
    return parsed


def parse_known(options: type[T], argv: Sequence[str], prog: str) -> tuple[T, list[str]]:
    """An instance of `options` from its flags, and the remaining arguments, a request for help among them."""
    help_words = [word for word in argv if word in HELP_WORDS]
    parsed, rest = _tyro(options, [word for word in argv if word not in HELP_WORDS], prog)
    return parsed, [*rest, *help_words]


def parse_both(first: type[T], second: type[U], argv: Sequence[str], prog: str, *known: type[Any]) -> tuple[T, U]:
    """Instances of two classes from the flags of one command; `known`: further classes, whose flags errors suggest."""
    parsed, rest = _tyro(first, argv, prog)
    other, rest = _tyro(second, rest, prog)
    if rest:
        raise unknown_flag(rest[0], prog, first, second, *known)
    return parsed, other


def parse_with_changes(
    options: type[T], argv: Sequence[str], prog: str, settings: Mapping[str, Any] | None = None
) -> tuple[T, dict[str, Any]]:
    """An instance of `options` from `argv`, and the other dotted flags as {"a.b": value}; settings: to suggest."""
    parsed, rest = _tyro(options, argv, prog)
    return parsed, dotted_changes(rest, prog, options, settings)


def check_counts(prog: str, **flags: int | None) -> None:
    """ConfigError for the first flag below 1; None stands for a flag that was not given."""
    for name, value in flags.items():
        if value is not None and value < 1:
            raise ConfigError(f"{prog}: --{name.replace('_', '-')} is {value}; it must be 1 or more")


def wants_help(argv: Sequence[str]) -> bool:
    """Whether help is requested."""
    return any(word in argv for word in HELP_WORDS)


def dotted_changes(
    words: Sequence[str], prog: str, options: Any, settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """`--a.b value` and `--a.b=value` as {"a.b": value}; values are JSON where they read as JSON, else text.

    Several words after `--a.b`, up to the next flag, are a list.
    """
    changes: dict[str, Any] = {}
    pending = list(words)
    while pending:
        flag, equals, value = pending.pop(0).partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if not flag.startswith("--") or not ("." in name or name in _PLAIN_SETTINGS):
            raise _without_its_group(name, flag, prog, settings) or unknown_flag(flag, prog, options)
        words_of_value = [value] if equals else _up_to_a_flag(pending)
        if not words_of_value:
            raise ConfigError(f"{prog}: {flag} needs a value")
        values = [_value(word) for word in words_of_value]
        changes[name] = values[0] if len(values) == 1 else values
    return changes


def _without_its_group(name: str, flag: str, prog: str, settings: Mapping[str, Any] | None) -> ConfigError | None:
    """The error for `--epochs` in place of `--training.epochs`, or `--lr`, if `settings` has such names."""
    names = [] if settings is None else same_end(name, setting_names(settings))
    whole = " or ".join("--" + other.replace("_", "-") for other in names)
    return ConfigError(f"{prog}: there is no flag {flag}; did you mean {whole}?") if names else None


def _up_to_a_flag(pending: list[str]) -> list[str]:
    words = []
    while pending and not pending[0].startswith("--"):
        words.append(pending.pop(0))
    return words


def _value(text: str) -> Any:
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    try:
        return parse_json(text)
    except ValueError:
        return text


FlagOfHelp: TypeAlias = Callable[[Any, StructFieldSpec], StructFieldSpec | None]
"""What help shows of a class's field, as tyro read it; None: nothing."""


def print_help(prog: str, *parts: Any, shown: FlagOfHelp = lambda _, flag: flag) -> None:
    """Print help on the flags of several classes, or instances with their values as defaults, as of one command."""
    fields = [_help_field(f"part{i}", part) for i, part in enumerate(parts)]
    combined = make_dataclass("Flags", fields, kw_only=True)
    with contextlib.suppress(SystemExit):
        tyro.cli(combined, args=["--help"], prog=prog, description="", config=_MARKERS, registry=_whole_texts(shown))


def _whole_texts(shown: FlagOfHelp) -> ConstructorRegistry:
    """Reads the classes of flags as tyro does, but help texts without the indentation and line ends of their source."""
    registry, read_by_tyro = ConstructorRegistry(), False

    @registry.struct_rule
    def whole(described: StructTypeInfo) -> StructConstructorSpec | None:
        nonlocal read_by_tyro
        if read_by_tyro:
            return None
        read_by_tyro = True
        try:
            read = ConstructorRegistry.get_struct_spec(described)
        finally:
            read_by_tyro = False
        if not isinstance(read, StructConstructorSpec):
            return None
        flags = (shown(described.type, flag) for flag in read.fields)
        return replace(read, fields=tuple(_whole(flag) for flag in flags if flag is not None))

    return registry


def _whole(flag: StructFieldSpec) -> StructFieldSpec:
    """With its text as one paragraph, and no remark on a default that the text names or that is empty."""
    text = " ".join(((flag.helptext() if callable(flag.helptext) else flag.helptext) or "").split())
    stated = "(default:" in text or flag.default == ()
    kind: Any = Annotated[flag.type, tyro.conf.arg(help_behavior_hint="")] if stated else flag.type
    return replace(flag, helptext=text or None, type=kind)


def _help_field(name: str, part: Any) -> tuple[Any, ...]:
    if isinstance(part, type):
        return name, Annotated[part, tyro.conf.arg(name="")]
    cls = type(part)
    return name, Annotated[cls, tyro.conf.arg(name=""), tyro.conf.FlagConversionOff], field(default=part)


def _tyro(options: Any, argv: Sequence[str], prog: str) -> tuple[Any, list[str]]:
    """The result of tyro's parser; its framed error message becomes a ConfigError of one line."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(options, args=list(argv), prog=prog, return_unknown_args=True, config=_MARKERS)
    except SystemExit as stop:
        if not stop.code:
            raise
        fault = stop.__context__
        said = _of_setting(fault) if isinstance(fault, ValidationError) else _one_line(complaint.getvalue())
        raise ConfigError(f"{prog}: {said}") from None


def _of_setting(fault: ValidationError) -> str:
    """The first fault of a source's settings, by the flag, with what was given."""
    name, _, said = describe(fault, {}).partition(": ")
    return said if not fault.errors()[0]["loc"] else f"--{name.partition('.')[0].replace('_', '-')}: {said}"


def _one_line(complaint: str) -> str:
    """tyro's error message without frame, reference to the help, and pydantic's remarks for programmers."""
    text = " ".join(_FRAME.sub(" ", complaint).split())
    if unreadable := _UNREADABLE.search(text):
        allowed = unreadable["allowed"].strip()
        return f"{unreadable['flag']} takes {allowed}, not {unreadable['given']}"
    for remark in _REMARKS:
        text = remark.sub("", text)
    return text.strip()


def unknown_flag(flag: str, prog: str, *options: type) -> ConfigError:
    """The error for an unknown flag, with the most similar existing one; a positional argument has none."""
    names = [name for cls in options for name in get_type_hints(cls)]
    known = ["--" + name.replace("_", "-") for name in names]
    if flag in known:
        return ConfigError(f"{prog}: there is no flag {flag}; give {flag[2:]} without it, as {prog} --help shows")
    hint = nearest(flag, known, f"{prog} --help lists the flags")
    return ConfigError(f"{prog}: there is no flag {flag}; {hint}")


def with_joined_data(argv: Sequence[str]) -> list[str]:
    """The arguments, with the values of --data, up to the next flag, joined to the single argument "A + B"."""
    words: list[str] = []
    for word in argv:
        if len(words) > 1 and words[-2] == "--data" and not word.startswith("--"):
            words[-1] = f"{words[-1]}{JOINED}{word}"
        else:
            words.append(word)
    return words


def run_subcommand(
    argv: Sequence[str], known: Iterable[Subcommand], help_text: str, unknown: Callable[[str], str]
) -> None:
    """Run the subcommand that the first argument names with the others, or print the help where there is none.

    ConfigError, with the text of `unknown`, for a word that is none of them.
    """
    if not argv or argv[0] in ("-h", "--help"):
        print(help_text, end="")
        return
    word, *rest = argv
    chosen = next((subcommand for subcommand in known if subcommand.name == word), None)
    if chosen is None:
        raise ConfigError(unknown(word))
    chosen.run(rest)


def parse_action(argv: Sequence[str], command: str, actions: Mapping[str, type], help_text: str) -> object | None:
    """The flags, of the class in `actions`, of the action that the first argument names; None where help was printed.

    ConfigError for an action that `command` does not have, with the nearest one.
    """
    if not argv or argv[0] in ("-h", "--help"):
        print(help_text, end="")
        return None
    action, *rest = argv
    if action not in actions:
        hint = nearest(action, actions, f"give {', '.join(actions)}")
        raise ConfigError(f"vtr {command}: there is no {action!r}; {hint}")
    prog = f"vtr {command} {action}"
    if wants_help(rest):
        print_help(prog, actions[action])
        return None
    return parse(actions[action], rest, prog)


@contextmanager
def json_alone(as_json: bool) -> Iterator[None]:
    """Where JSON is asked for, what is printed for people meanwhile goes to standard error."""
    if not as_json:
        yield
        return
    with redirect_stdout(sys.stderr):
        yield


def print_json(value: object) -> None:
    """Print indented JSON."""
    print(json.dumps(value, indent=1))


@contextmanager
def written_as_json(as_json: bool, out: str | None, page: str, values: str) -> Iterator[None]:
    """`json_alone`; then, where asked, prints what was written to the file `values` of the folder `out`.

    Beside those values stands where the page is, as `page`. StorageError at once where the folder cannot be written.
    """
    from vtr_core import storage
    from vtr_core.storage import locate

    if out is not None:
        storage.check_writable(locate(out))
    with json_alone(as_json):
        yield
    if as_json:
        assert out is not None
        print_json({"page": (locate(out) / page).uri, **storage.read_json(locate(out) / values)})


class ImportFlags(Protocol):
    """The flags that all imports have."""

    @property
    def out(self) -> str:
        """New checkpoint folder or URI."""

    @property
    def json(self) -> bool:
        """Print the result as JSON, alone on standard output."""


F = TypeVar("F", bound=ImportFlags)


def run_import(
    argv: Sequence[str], project: str, options: type[F], write: Callable[[F], Mapping[str, object] | None]
) -> None:
    """Parse the flags and write what is imported, or print the help; `write` gives what --json prints.

    None stands for a checkpoint.
    """
    prog = f"vtr import {project}"
    if not argv or wants_help(argv):
        print_help(prog, options)
        return
    flags = parse(options, argv, prog)
    with json_alone(flags.json):
        written = write(flags) or {"checkpoint": flags.out, "imported": project}
    if flags.json:
        print_json(written)
