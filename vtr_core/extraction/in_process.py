"""Extraction in the process of the command, without Ray, with several decoders in parallel."""

import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from itertools import islice

from vtr_core.extraction.chosen import Chosen, streams
from vtr_core.extraction.features import Extracted, Unusable, unusable
from vtr_core.extraction.networks import Networks, Rows
from vtr_core.extraction.pieces import Gathering, Piece, pieces
from vtr_core.video.faults import VideoFault
from vtr_core.video.opening import size_of
from vtr_core.video.process import Decoding, DecodingProcess
from vtr_core.video.streams import Chunk, End


def extract_here(
    uris: Sequence[str], chosen: Sequence[Chosen], how: Decoding, device: str, at_once: int
) -> Iterator[tuple[int, Extracted]]:
    """(position, features) of every video, in order of completion; `at_once` decoders feed the networks.

    The networks take one chunk of fixed size at a time, and long videos are cut into fixed spans, so that features do
    not depend on `at_once`.
    """
    networks = Networks(chosen, device)
    free: queue.SimpleQueue[DecodingProcess] = queue.SimpleQueue()
    with ExitStack() as stack:
        decoders = [stack.enter_context(DecodingProcess(how)) for _ in range(at_once)]
        for decoder in decoders:
            free.put(decoder)
        pool = stack.enter_context(ThreadPoolExecutor(at_once))
        waiting = _pieces(uris, chosen, how, stack.enter_context(DecodingProcess(how)))

        def one(piece: Piece) -> "_Seen | Unusable":
            decoder = free.get()
            try:
                return _seen(decoder, networks, chosen, piece)
            finally:
                free.put(decoder)

        gathering = Gathering([one.recipe.name for one in chosen])
        running: dict[Future[_Seen | Unusable], Piece] = {}
        try:
            while True:
                for piece in islice(waiting, at_once + 1 - len(running)):
                    running[pool.submit(one, piece)] = piece
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from _gathered(gathering, running.pop(future), future.result())
        finally:
            for future in running:
                future.cancel()
            for decoder in decoders:  # also ends decoding whose result is no longer needed
                decoder.close()


_Seen = tuple[list[Rows], int, End]
"""The rows of a piece, its number of chunks, and its End."""


def _pieces(uris: Sequence[str], chosen: Sequence[Chosen], how: Decoding, process: DecodingProcess) -> Iterator[Piece]:
    for video, uri in enumerate(uris):
        if size_of(uri) < how.cut.min_bytes:
            yield Piece(video, uri)
        else:
            yield from pieces(video, uri, streams(chosen), how.cut, process)


def _seen(decoder: DecodingProcess, networks: Networks, chosen: Sequence[Chosen], piece: Piece) -> _Seen | Unusable:
    """The features of a piece; decoding of the next chunk overlaps with the networks' work on this one."""
    rows: list[Rows] = []
    chunks = 0
    try:
        for part in decoder.decode(piece.uri, streams(chosen), piece.span):
            if isinstance(part, End):
                return rows, chunks, part
            assert isinstance(part, Chunk)
            rows += networks.rows(part)
            chunks += 1
    except VideoFault as fault:
        return unusable(fault)
    raise AssertionError("a decoder ends with an End or a fault")


def _gathered(gathering: Gathering, piece: Piece, found: _Seen | Unusable) -> Iterator[tuple[int, Extracted]]:
    if isinstance(found, Unusable):
        yield from gathering.fault(piece, found)
    else:
        rows, chunks, end = found
        yield from gathering.seen(piece, rows, chunks)
        yield from gathering.ended(piece, end, chunks)
