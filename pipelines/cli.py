"""`vtr`: the first argument names a command of the table, which is imported only then, so that help is instant."""

import sys
from collections.abc import Sequence

from pipelines.commands import COMMANDS, help_text
from vtr_core.errors import ConfigError, VtrError


def run(command: str, argv: Sequence[str]) -> None:
    """Run one command with its flags."""
    for known in COMMANDS:
        if known.name == command:
            known.run(argv)
            return
    raise ConfigError(f"there is no command {command!r}; vtr --help lists them")


def main(*first: str) -> None:
    """The console script: exit code 0, or 2 with an error of one line, or 130 when interrupted.

    first: arguments before those of the command line; `python -m pipelines.train` is `vtr train`.
    """
    words = [*first, *sys.argv[1:]]
    if not words or words[0] in ("-h", "--help"):
        print(help_text(), end="")
        return
    try:
        run(words[0], words[1:])
    except VtrError as error:
        print(f"vtr {words[0]}: {type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        print(f"vtr {words[0]}: interrupted", file=sys.stderr)
        sys.exit(getattr(stop, "exit_code", 130))


if __name__ == "__main__":
    main()
