"""Links to what a command wrote on an object store, for a browser."""

from vtr_core.storage import Location, presigned_url

_HOURS = 1


def print_link(location: Location) -> None:
    """Print a presigned link to a file on an S3-compatible store; nothing for other places.

    It reads the file without credentials until it expires, so it is shown and kept nowhere.
    """
    url = presigned_url(location, 3600 * _HOURS)
    if url is not None:
        print(f"link        {url}  (anyone can read it for {_HOURS} h)")
