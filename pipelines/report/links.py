"""Browser links to a command's output on an object store."""

from vtr_core.storage import Location, presigned_url

_HOURS = 1


def print_link(location: Location) -> None:
    """Print a presigned link to a file on an S3-compatible store; nothing for other locations.

    The link gives access without credentials until it expires, so it is printed and never stored.
    """
    url = presigned_url(location, 3600 * _HOURS)
    if url is not None:
        print(f"link        {url}  (anyone can read it for {_HOURS} h)")
