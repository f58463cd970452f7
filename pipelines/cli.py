"""`vtr`: the first argument names a command of the table, which is imported only then, so that help is instant."""

import atexit
import codecs
import getpass
import io
import os
import select
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TextIO

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
    own = argv[: argv.index("--")] if "--" in argv else argv
    return any(word in own for word in HELP_WORDS)


def main(*first: str) -> None:
    """The console script: exit code 0, or 2 with an error of one line, or 130 when interrupted.

    first: arguments before those of the command line; `python -m pipelines.train` is `vtr train`. `--quiet` before a
    command leaves its errors alone on the terminal. Output that cannot be written costs no work, see `lasting_output`.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault(*_SPINS)  # read when torch is imported
    _take_utf8()
    _name_user()
    words = [*first, *sys.argv[1:]]
    is_quiet = words[:1] == ["--quiet"]
    with lasting_output():
        if is_quiet:
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as long as the process lives
        _main(words[is_quiet:])


def _take_utf8() -> None:
    """Begin this process again in Python's UTF-8 mode where the locale has another encoding, and keep the terminal's.

    Else names of files, and what libraries write to files, would be of another encoding than in Arrow and Ray.
    """
    if sys.stdout is sys.__stdout__ and sys.getfilesystemencoding() != "utf-8":
        if sys.stdout is not None:
            os.environ["PYTHONIOENCODING"] = sys.stdout.encoding
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _name_user() -> None:
    """A user whom the system does not know, such as a container's, gets a name, and a home for as long as the command.

    MLflow asks for the home when it is imported, and torch for the name.
    """
    if not os.environ.get("HOME"):
        os.environ.pop("HOME", None)
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["USER"] = f"uid{os.getuid()}"
    if os.path.expanduser("~") == "~":
        os.environ["HOME"] = tempfile.mkdtemp(prefix="vtr-home-")
        atexit.register(shutil.rmtree, os.environ["HOME"], ignore_errors=True)


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


class _LastingFile(io.FileIO):
    """A standard stream of bytes that drops what it is given, once it cannot be written."""

    fault: OSError | None = None

    def write(self, content: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        """The number of bytes that were written or dropped; it waits for a reader of a pipe that does not block."""
        try:
            while self.fault is None:
                if (written := super().write(content)) is not None:
                    return written
                select.select((), (self,), ())
        except OSError as error:
            self.fault = error
        return len(content)


@contextmanager
def lasting_output() -> Iterator[None]:
    """The command's output within; where it cannot be written, the work goes on, and the exit code says so at its end.

    A reader that ends, such as `head`, a full disk, and a stream that was closed before thus cost no results.
    Characters that the terminal's encoding lacks are replaced, in processes that are started here, too. The exit code
    is 141 where the reader ended, 2 where there was no room. Output that was redirected within Python stays as it is.
    """
    if sys.stdout is not sys.__stdout__ or sys.stderr is not sys.__stderr__:
        yield
        return
    while (free := os.open(os.devnull, os.O_RDWR)) <= 2:  # else a file of the work would get a closed stream's number
        pass
    os.close(free)
    codecs.register_error("plain", _plain)
    os.environ |= {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:backslashreplace"}  # as Ray reads workers' output
    file = _LastingFile(1, "w", closefd=False)
    sys.stdout, sys.stderr = _text(file, sys.stdout), _text(_LastingFile(2, "w", closefd=False), sys.stderr)
    output = sys.stdout
    yield
    output.flush()
    if isinstance(file.fault, BrokenPipeError):
        sys.exit(_PIPE_CLOSED)
    if file.fault is not None:
        print(f"vtr: standard output could not be written ({file.fault.strerror}): a part is missing", file=sys.stderr)
        sys.exit(2)


def _text(file: _LastingFile, stream: TextIO | None) -> TextIO:
    """Text that is written to `file`, in the encoding of `stream`; None stands for a closed one."""
    if stream is not None:
        stream.flush()
    encoding, by_line = getattr(stream, "encoding", "utf-8"), getattr(stream, "line_buffering", True)
    buffered = io.BufferedWriter(file)  # type: ignore[type-var]  # it may write any buffer
    return io.TextIOWrapper(buffered, encoding, errors="plain", line_buffering=by_line)


_PLAIN = dict.fromkeys(map(ord, "╭╮╰╯┌┐└┘├┤┬┴┼┏┓┗┛┡┩╇╞╡╪"), "+") | str.maketrans("─━│┃→–’“”…×", '--||>-\'""~x')
"""What tables and help are made of, for terminals without it."""


def _plain(error: UnicodeError) -> tuple[str, int]:
    """What is written in place of characters that an encoding lacks: a similar one, or its number, as in \\u0915."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "backslashreplace").decode(), error.end


if __name__ == "__main__":
    main()
