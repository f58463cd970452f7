"""Reading of source files, with faults of the file told apart from those of the storage."""

import errno

import pyarrow.fs as pafs

from vtr_core import storage
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.storage import Location, StorageError

_NO_FILE = (errno.ELOOP, errno.ENAMETOOLONG)


def read_file(location: Location) -> bytes:
    """The whole file; UnusableError, with the reason, where it does not exist, may not be read, or is a folder.

    Other faults of the storage (a network that is down) are a StorageError, since they are no fault of the file.
    """
    try:
        return storage.read_bytes(location)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnusableError(Reason.MISSING_FILE, f"there is no file {location}") from error
    except OSError as error:
        if isinstance(error, PermissionError) or error.errno in _NO_FILE or _is_folder(location):
            raise UnusableError(Reason.UNREADABLE_FILE, f"{location} cannot be read ({error})") from error
        raise StorageError(f"{location} cannot be read ({error}); run the same command again to resume") from error


def _is_folder(location: Location) -> bool:
    return bool(location.filesystem.get_file_info(location.path).type == pafs.FileType.Directory)
