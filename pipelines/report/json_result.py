"""The result of a command as JSON, alone on standard output."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vtr_core.storage import Location


@contextmanager
def json_alone(asked: bool) -> Iterator[None]:
    """Where JSON is asked for, what is printed for people meanwhile goes to standard error."""
    if not asked:
        yield
        return
    with redirect_stdout(sys.stderr):
        yield


def print_json(value: object) -> None:
    """Print indented JSON."""
    print(json.dumps(value, indent=1))


def print_written(page: "Location", values: "Location") -> None:
    """Print the values that a command has just written as JSON, and where its page is, as `page`."""
    from vtr_core import storage

    print_json({"page": page.uri, **storage.read_json(values)})
