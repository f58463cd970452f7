"""An annotation file as text."""

from vtr_core.data.sources.files.files import read_file
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.storage import Location


def read_text(location: Location) -> str:
    """The content of a UTF-8 file, with or without a byte-order mark, its line ends as they are.

    Raises UnusableError where it is missing, cannot be read, or is in another encoding.
    """
    try:
        return read_file(location).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnusableError(Reason.UNREADABLE_FILE, f"{location} is not text in UTF-8 ({error})") from error
