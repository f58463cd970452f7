"""What every `vtr import PROJECT` does with its arguments."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from pipelines.arguments import parse, print_help, wants_help
from pipelines.report.json_result import json_alone, print_json


class ImportFlags(Protocol):
    """The flags that all imports have."""

    @property
    def out(self) -> str:
        """New checkpoint folder or URI."""

    @property
    def json(self) -> bool:
        """Print the result as JSON, alone on standard output."""


F = TypeVar("F", bound=ImportFlags)


def run_import(argv: Sequence[str], project: str, options: type[F], write: Callable[[F], None]) -> None:
    """Parse the flags and write the checkpoint, or print the help."""
    prog = f"vtr import {project}"
    if not argv or wants_help(argv):
        print_help(prog, options)
        return
    flags = parse(options, argv, prog)
    with json_alone(flags.json):
        write(flags)
    if flags.json:
        print_json({"checkpoint": flags.out, "imported": project})
