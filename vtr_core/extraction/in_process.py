"""Extraction in the command's process: videos decoded in parallel by processes that feed the networks."""

import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from itertools import islice

from vtr_core.extraction.features import Extracted, assemble
from vtr_core.extraction.networks import Chosen, Networks, Rows, streams
from vtr_core.unusable import UnusableError
from vtr_core.video.process import DecodingProcess, Limits
from vtr_core.video.streams import Chunk, End


def extract_here(
    uris: Sequence[str], chosen: Sequence[Chosen], limits: Limits, device: str, at_once: int
) -> Iterator[tuple[int, Extracted]]:
    """(position, features) of every video, in order of completion; `at_once` decoders feed the networks.

    The networks take one chunk of fixed size at a time, so that features do not depend on `at_once`.
    """
    networks = Networks(chosen, device)
    free: queue.SimpleQueue[DecodingProcess] = queue.SimpleQueue()
    with ExitStack() as stack:
        decoders = [stack.enter_context(DecodingProcess(limits)) for _ in range(at_once)]
        for decoder in decoders:
            free.put(decoder)
        pool = stack.enter_context(ThreadPoolExecutor(at_once))
        waiting = iter(enumerate(uris))

        def extract(uri: str) -> Extracted:
            decoder = free.get()
            try:
                return _extracted(decoder, networks, chosen, uri)
            finally:
                free.put(decoder)

        running: dict[Future[Extracted], int] = {}
        try:
            while True:
                for position, uri in islice(waiting, at_once + 1 - len(running)):
                    running[pool.submit(extract, uri)] = position
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            for future in running:
                future.cancel()
            for decoder in decoders:  # also ends decoding whose result is no longer needed
                decoder.close()


def _extracted(decoder: DecodingProcess, networks: Networks, chosen: Sequence[Chosen], uri: str) -> Extracted:
    """The features of a video; decoding of the next chunk overlaps with the networks' work on this one."""
    rows: list[Rows] = []
    try:
        for part in decoder.decode(uri, streams(chosen)):
            if isinstance(part, End):
                return assemble(rows, part.duration, [choice.recipe.name for choice in chosen], uri)
            assert isinstance(part, Chunk)
            rows += networks.rows(part)
    except UnusableError as fault:
        return fault.with_traceback(None)
    raise AssertionError("a decoder ends with an End or a fault")
