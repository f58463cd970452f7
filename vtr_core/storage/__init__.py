"""URIs to files: one way to read, write and publish bytes on a local disk or an object store."""

from vtr_core.storage.fault import StorageError
from vtr_core.storage.files import (
    check_file_writable,
    check_readable,
    check_writable,
    children,
    create_exclusively,
    delete_file,
    delete_folder,
    delete_unpublished,
    exists,
    file_sizes,
    files_below,
    open_for_writing,
    presigned_url,
    read_bytes,
    read_json,
    read_verified,
    write_bytes,
    write_json,
)
from vtr_core.storage.location import (
    MAX_NAME_BYTES,
    Location,
    is_file_name,
    is_text,
    is_uri,
    local_path,
    locate,
    shown_name,
)
