"""`vtr`: the first argument names a command of the table, which is imported only then, so that help is instant."""

import os
import select
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from pipelines.commands import COMMANDS, HELP_WORDS, examples_text, help_text
from vtr_core import __version__
from vtr_core.errors import ConfigError, VtrError, nearest

_PIPE_CLOSED = 141
"""The exit code of a process that SIGPIPE ends."""
_SPINS = "GOMP_SPINCOUNT", "10000"
"""Torch's threads soon sleep while they wait for each other. By default they spin thirty times as long, which on a busy
machine takes the processor from the one they wait for: a small model's steps take three to seven times as long
beside other work. On an idle machine they take a tenth longer with this number, and half as long again without any.
"""


def run(command: str, argv: Sequence[str]) -> None:
    """Run one command with its flags; after its help, examples of it."""
    for known in COMMANDS:
        if known.name == command:
            is_folder = (Path(__file__).parent / command / "command.py").is_file()
            module = f"pipelines.{command}.command" if is_folder else f"pipelines.{command}"
            import_module(module).main(argv)  # only here, so that help is instant
            if _asks_for_help(argv):
                print(examples_text(command), end="")
            return
    hint = nearest(command, (known.name for known in COMMANDS), "vtr --help lists them")
    raise ConfigError(f"there is no command {command!r}; {hint}")


def _asks_for_help(argv: Sequence[str]) -> bool:
    """Whether the command itself is asked for help, and not a job's command after --."""
    own = argv[: argv.index("--")] if "--" in argv else argv
    return any(word in own for word in HELP_WORDS)


def main(*first: str) -> None:
    """The console script: exit code 0, or 2 with an error of one line, or 130 when interrupted.

    first: arguments before those of the command line; `python -m pipelines.train` is `vtr train`. `--quiet` before a
    command leaves its errors alone on the terminal. A reader of the output that ends, such as `head`, ends the command.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault(*_SPINS)  # read when torch is imported
    words = [*first, *sys.argv[1:]]
    if words[:1] == ["--quiet"]:
        words = words[1:]
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # as long as the process lives
    try:
        _main(words)
        sys.stdout.flush()
    except BrokenPipeError:
        if not _output_is_closed():
            raise
        sys.exit(_PIPE_CLOSED)


def _main(words: Sequence[str]) -> None:
    if not words or words[0] in ("-h", "--help"):
        print(help_text(), end="")
        return
    if words[0] == "--version":
        print(f"vtr {__version__}")
        return
    try:
        run(words[0], words[1:])
    except VtrError as error:
        print(f"vtr {words[0]}: {type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        print(f"vtr {words[0]}: interrupted", file=sys.stderr)
        sys.exit(getattr(stop, "exit_code", 130))


def _output_is_closed() -> bool:
    """Whether nobody reads standard output any more, which then leads nowhere, so that Python's end writes nothing."""
    asked = select.poll()
    asked.register(sys.stdout.fileno(), 0)
    if not any(event & (select.POLLERR | select.POLLHUP) for _, event in asked.poll(0)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


if __name__ == "__main__":
    main()
