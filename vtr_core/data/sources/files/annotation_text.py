"""An annotation file as text."""

from vtr_core.data.sources.files.files import read_file
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.errors import InputError
from vtr_core.storage import Location


def read_text(location: Location) -> str:
    """The content of a UTF-8 file, with or without a byte-order mark, its line ends as they are.

    Raises UnusableError where it is missing, cannot be read, or is in another encoding.
    """
    try:
        return read_file(location).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnusableError(Reason.UNREADABLE_FILE, f"{location} is not text in UTF-8 ({error})") from error


def read_lines(location: Location) -> list[str]:
    """The lines of a file that is needed, without their ends; InputError where `read_text` cannot read it."""
    try:
        return [line.removesuffix("\r") for line in read_text(location).split("\n")]
    except UnusableError as fault:
        raise InputError(f"{fault}; give a text file in UTF-8") from fault
