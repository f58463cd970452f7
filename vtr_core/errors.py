"""Errors that a user can act on: what was given, what is allowed, what to do."""

import shlex
from collections.abc import Iterable

from vtr_core.redaction import redact

_LONGEST_MESSAGE = 1000


class Interrupted(KeyboardInterrupt):
    """A run was ended by a signal, after saving what it had."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"signal {signal_number}")
        self.exit_code = 128 + signal_number


class VtrError(Exception):
    """A fault in what the user gave. Commands print its one line and exit with code 2, without a traceback.

    Messages quote input, which may hold anything: what is not printable is escaped, what is too long is cut, and
    secrets of URIs are taken out.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(redact(message)))


class ConfigError(VtrError):
    """A configuration or flag has an unknown name or a value that is not allowed."""


class InputError(VtrError):
    """A source file (features, captions, tables, word vectors) cannot be used as it is."""


class DatasetError(VtrError):
    """A data set is incomplete, damaged or does not suit the request."""


class SchemaMismatch(DatasetError):
    """A data set was written in a record kind or schema version that this code does not read."""


class CheckpointError(VtrError):
    """A checkpoint is incomplete, damaged or belongs to another system."""


class RunConflict(VtrError):
    """An output location already holds another run or another data set."""


class ClusterError(VtrError):
    """The Ray cluster cannot hold what the run asks for."""


class TrainingError(VtrError):
    """Training cannot go on, for instance because the loss stays non-finite."""


def how_to_install(extra: str) -> str:
    """How an optional part of the project is installed, from a clone of it: it is on no package index."""
    return (
        f"in vtr's folder make install EXTRAS={extra}, or pip install --constraint constraints.txt --editable "
        f"'.[{extra}]'"
    )


def command_line(command: str, *words: object) -> str:
    """A command of vtr to type, such as `vtr train --resume 'runs/my run'`: each word as the shell needs it."""
    return shlex.join(["vtr", command, *map(str, words)])


def nearest(word: str, known: Iterable[str], otherwise: str) -> str:
    """What an error says of an unknown word: did you mean the known one that is most like it? Else `otherwise`."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]}?" if close else otherwise


def one_line(text: str) -> str:
    """`text` as one printable line of bounded length: the file comes first in a message, so the middle is left out."""
    line = " ".join(part for part in text.splitlines() if part.strip())
    if not line.isprintable():
        line = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)
    if len(line) <= _LONGEST_MESSAGE:
        return line
    return f"{line[: _LONGEST_MESSAGE * 3 // 4]} … {line[-_LONGEST_MESSAGE // 4 :]}"
