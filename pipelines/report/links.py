"""Links to what a command wrote on an object store, for a browser."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vtr_core.storage import Location

_HOURS = 1


def print_link(location: "Location") -> None:
    """Print a presigned link to a file on an S3-compatible store; nothing for other places.

    It reads the file without credentials until it expires, so it is shown and kept nowhere.
    """
    from vtr_core.storage import presigned_url

    url = presigned_url(location, 3600 * _HOURS)
    if url is not None:
        print(f"link        {url}  (anyone can read it for {_HOURS} h)")
