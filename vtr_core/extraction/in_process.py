"""Videos extracted in the process of the command, without Ray: as many at once as the machine has cores."""

import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from itertools import islice

from vtr_core.extraction.chosen import Chosen, streams
from vtr_core.extraction.features import Extracted, assemble, unusable
from vtr_core.extraction.networks import Networks
from vtr_core.video.faults import VideoFault
from vtr_core.video.process import DecodingProcess, Limits
from vtr_core.video.streams import Chunk


def extract_here(
    uris: Sequence[str], chosen: Sequence[Chosen], limits: Limits, device: str, at_once: int
) -> Iterator[tuple[int, Extracted]]:
    """(position, features) of every video, in the order in which they are done; `at_once` decoders feed the networks.

    Each video is seen in chunks of fixed size, whatever is seen beside it, so that its features do not depend on
    `at_once`.
    """
    networks = Networks(chosen, device)
    free: queue.SimpleQueue[DecodingProcess] = queue.SimpleQueue()
    with ExitStack() as stack:
        decoders = [stack.enter_context(DecodingProcess(limits)) for _ in range(at_once)]
        for decoder in decoders:
            free.put(decoder)
        pool = stack.enter_context(ThreadPoolExecutor(at_once))
        waiting = iter(enumerate(uris))

        def one(uri: str) -> Extracted:
            decoder = free.get()
            try:
                return extract_video(decoder, networks, chosen, uri)
            finally:
                free.put(decoder)

        running: dict[Future[Extracted], int] = {}
        try:
            while True:
                for position, uri in islice(waiting, at_once + 1 - len(running)):
                    running[pool.submit(one, uri)] = position
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            for future in running:
                future.cancel()
            for decoder in decoders:  # what is still at a video of no more use ends with its decoder
                decoder.close()


def extract_video(decoder: DecodingProcess, networks: Networks, chosen: Sequence[Chosen], uri: str) -> Extracted:
    """The features of one video; the decoder works on the next chunk while the networks are at one."""
    parts, duration = [], 0.0
    try:
        for part in decoder.decode(uri, streams(chosen)):
            if isinstance(part, Chunk):
                parts += networks.rows(part)
            else:
                duration = part.duration
    except VideoFault as fault:
        return unusable(fault)
    return assemble(parts, duration, [one.recipe.name for one in chosen], uri)
