"""The program of a decoding process: it decodes video after video for the process that started it, within limits.

It ends with its parent. Arguments: the descriptor of its connection, and the limit of bytes in addition to those in use
at its start.
"""

import os
import sys
import threading
from multiprocessing.connection import Connection

from vtr_core.process_limits import limit
from vtr_core.storage import StorageError
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.decoding import decode, located
from vtr_core.video.process import Request


def main(descriptor: int, max_bytes: int) -> None:
    """Answer requests until the connection is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limit(max_bytes, "addresses")
    connection: Connection = Connection(descriptor)
    while True:
        try:
            request: Request = connection.recv()
        except EOFError:
            return
        try:
            for part in decode(located(request.uri), request.streams, request.span):
                connection.send(part)
        except (UnusableError, StorageError) as fault:
            connection.send(fault)
        except MemoryError:
            message = f"{request.uri} needs more memory than it may have"
            connection.send(UnusableError(Reason.DECODING_TOO_LARGE, message))


def _end_with_parent() -> None:
    """End this process when its standard input, whose other end the parent holds, is closed."""
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
