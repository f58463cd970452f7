"""Commands with subcommands: `vtr analyze causality`, `vtr tables muse`, `vtr runs list`."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from pipelines.arguments import parse, print_help, wants_help
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
