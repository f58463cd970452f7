"""The program of a decoding process: it decodes video after video for the process that started it, within limits.

It ends with its parent. What it may take of memory beyond what it has at its start is set by its second argument.
"""

import os
import resource
import sys
import threading
from multiprocessing.connection import Connection

from vtr_core.storage import StorageError
from vtr_core.video.decoding import decode
from vtr_core.video.faults import Fault, VideoFault
from vtr_core.video.opening import located


def main(descriptor: int, max_bytes: int) -> None:
    """Answer requests, each (uri, streams, threads), by chunks and an End or an error, until there are no more."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _limit_memory(max_bytes)
    connection: Connection = Connection(descriptor)
    while True:
        try:
            uri, streams, threads = connection.recv()
        except EOFError:
            return
        try:
            for part in decode(located(uri), streams, threads):
                connection.send(part)
        except VideoFault as fault:
            connection.send(fault)
        except StorageError as error:
            connection.send(error)
        except MemoryError:
            connection.send(VideoFault(Fault.DECODING_TOO_LARGE, f"{uri} needs more memory than it may have"))


def _limit_memory(max_bytes: int) -> None:
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + max_bytes, held + max_bytes))


def _end_with_parent() -> None:
    """The parent holds the other end of the standard input; when it is gone, so is what it asked for."""
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
