"""`vtr completion bash|zsh|fish`: prints what a shell needs to complete `vtr`."""

from collections.abc import Sequence

from vtr_core.errors import ConfigError, nearest

HELP = """\
usage: vtr completion bash|zsh|fish

Prints a script that completes commands, presets, sources, actions, flags and settings. It holds them as they are now:
make it again after an upgrade.

  bash   vtr completion bash > ~/.local/share/bash-completion/completions/vtr
  zsh    vtr completion zsh > a folder of $fpath/_vtr
  fish   vtr completion fish > ~/.config/fish/completions/vtr.fish
"""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or argv[0] in ("-h", "--help"):
        print(HELP, end="")
        return
    from pipelines.completion.scripts import SCRIPTS, words

    if argv[0] not in SCRIPTS or len(argv) > 1:
        hint = nearest(" ".join(argv), SCRIPTS, f"give one of {', '.join(SCRIPTS)}")
        raise ConfigError(f"vtr completion: {' '.join(argv)} is no shell; {hint}")
    print(SCRIPTS[argv[0]](words()), end="")
