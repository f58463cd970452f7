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


@contextmanager
def written_as_json(asked: bool, out: str | None, page: str, values: str) -> Iterator[None]:
    """`json_alone`; then, where asked, prints what was written to the file `values` of the folder `out`.

    Beside those values stands where the page is, as `page`. StorageError at once where the folder cannot be written.
    """
    from vtr_core import storage
    from vtr_core.storage import locate

    if out is not None:
        storage.check_writable(locate(out))
    with json_alone(asked):
        yield
    if asked:
        assert out is not None
        print_json({"page": (locate(out) / page).uri, **storage.read_json(locate(out) / values)})
