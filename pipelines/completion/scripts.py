"""Completion scripts of the three shells from the words of the commands."""

from collections.abc import Callable, Iterable, Mapping

from pipelines.completion.words import Words

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
