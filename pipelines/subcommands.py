"""Commands whose first argument names a part of them: `vtr analyze causality`, `vtr tables muse`, `vtr runs list`."""

from collections.abc import Callable, Iterable, Sequence

from vtr_core.errors import ConfigError, nearest
from vtr_core.systems.subcommands import Subcommand


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
    chosen = next((one for one in known if one.name == word), None)
    if chosen is None:
        raise ConfigError(unknown(word))
    chosen.run(rest)


def unknown_action(command: str, action: str, known: Sequence[str]) -> ConfigError:
    """The error of an action that a command does not have, with the nearest one."""
    hint = nearest(action, known, f"give {', '.join(known)}")
    return ConfigError(f"vtr {command}: there is no {action!r}; {hint}")
