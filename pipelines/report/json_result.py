"""The result of a command as JSON, alone on standard output."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout


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
