"""The program of a decoding process: it decodes video after video for the process that started it, within limits.

It ends with its parent. Arguments: the descriptor of its connection, the limit of bytes in addition to those in use at
its start, the decoder and its device.
"""

import os
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import cast

from vtr_core.process_limits import limit
from vtr_core.storage import StorageError
from vtr_core.video.decoders import Decoder, Fault, VideoFault
from vtr_core.video.decoding import cuttable_length, decode, located
from vtr_core.video.process import Decode, Measure
from vtr_core.video.streams import Chunk, End


def main(descriptor: int, max_bytes: int, decoder: Decoder, device: str) -> None:
    """Answer requests until the connection is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limit(max_bytes, "data" if device == "cuda" else "addresses")
    connection: Connection = Connection(descriptor)
    while True:
        try:
            request: Decode | Measure = connection.recv()
        except EOFError:
            return
        try:
            for part in _answer(request, decoder, device):
                connection.send(part)
        except VideoFault as fault:
            connection.send(fault)
        except StorageError as error:
            connection.send(error)
        except MemoryError:
            connection.send(VideoFault(Fault.DECODING_TOO_LARGE, f"{request.uri} needs more memory than it may have"))


def _answer(request: Decode | Measure, decoder: Decoder, device: str) -> Iterator[Chunk | End | float]:
    location = located(request.uri)
    if isinstance(request, Measure):
        yield cuttable_length(location)
    elif decoder == "pyav":
        yield from decode(location, request.streams, request.span)
    else:
        from vtr_core.video.torchcodec_pictures import decode_by_torchcodec

        yield from decode_by_torchcodec(location, request.streams, request.span, device)


def _end_with_parent() -> None:
    """End this process when its standard input, whose other end the parent holds, is closed."""
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), cast(Decoder, sys.argv[3]), sys.argv[4])
