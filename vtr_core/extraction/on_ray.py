"""Extraction by Ray Data: decoders on CPUs stream chunks to actors that hold the networks."""

import math
import pickle
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import ray
from ray.data import ActorPoolStrategy, DataContext
from ray.exceptions import RayError

from vtr_core.extraction.features import Extracted, Unusable, unusable
from vtr_core.extraction.in_process import Gathering, Piece, pieces
from vtr_core.extraction.networks import Chosen, Networks, Rows, streams
from vtr_core.storage import StorageError
from vtr_core.video.decoders import Decoder, VideoFault
from vtr_core.video.decoding import size_of
from vtr_core.video.process import Decoding, DecodingProcess
from vtr_core.video.streams import Chunk, End, Stream

_BLOCK_BYTES = 32 * 2**20
"""Bytes of a block of chunks; small, so that the chunks of a long video are passed on while it is decoded."""
_VIDEOS_A_TASK = 4
_ASKED_AT_ONCE = 32
"""Number of concurrent requests for file sizes."""
_FILES_A_TASK = 32
_MEASURING_CPUS = 0.25
_LOSSES_IN_A_ROW = 3
"""Losses of actors or nodes that are tolerated in a row without a finished video. After a loss a new run of Ray Data
repeats the unfinished videos: actors that Ray Data restarts itself print an error about their arguments."""
VIDEOS_A_RUN = 16_384
"""Videos of one run of Ray Data, which lists its blocks in advance and finishes videos approximately in order."""


@dataclass(frozen=True)
class Resources:
    """Number and resources of decoders and network actors. Without GPUs both share the cores."""

    decoders: int
    decoder_cpus: float
    networks: int
    network_cpus: float
    network_gpus: float
    decoder_gpus: float = 0.0

    @classmethod
    def of(cls, cpus: float, gpus: float, gpus_per_network: float, decoder: Decoder) -> "Resources":
        """The resources for a cluster: one decoder per core, the networks once per core or share of a GPU.

        Where GPUs decode, two decoders per GPU share a fifth of it.
        """
        cores = max(1, math.floor(cpus))
        if not gpus or not gpus_per_network:
            return cls(cores, 0.25, cores, 0.75, 0.0)
        networks = max(1, math.floor(gpus / gpus_per_network))
        if decoder == "torchcodec":
            return cls(max(1, math.floor(2 * gpus)), 1.0, networks, 0.0, 0.8 * gpus_per_network, 0.1)
        return cls(cores, 1.0, networks, 0.0, gpus_per_network)

    @property
    def device(self) -> str:
        """The torch device of the networks."""
        return "cuda" if self.network_gpus else "cpu"


@dataclass(frozen=True)
class _Decoded:
    """Decoder output for the networks: a chunk of a piece, or at its end the number of chunks, or the fault."""

    piece: Piece
    chunk: Chunk | None = None
    end: End | None = None
    chunks: int = 0
    fault: Unusable | None = None
    stopped: str | None = None
    """Why no video can be read at present, where a store fails."""


class _Decoder:
    """Maps rows {"pieces": pieces of videos} to rows {"part": _Decoded}, streaming."""

    def __init__(self, chosen: Sequence[Chosen], how: Decoding) -> None:
        self._streams = streams(chosen)
        self._process = DecodingProcess(how)

    def __call__(self, row: dict[str, Any]) -> Iterator[dict[str, bytes]]:
        for piece in pickle.loads(row["pieces"]):
            for part in self._parts(piece):
                yield {"part": pickle.dumps(part)}

    def _parts(self, piece: Piece) -> Iterator[_Decoded]:
        chunks = 0
        try:
            for part in self._process.decode(piece.uri, self._streams, piece.span):
                if isinstance(part, Chunk):
                    chunks += 1
                    yield _Decoded(piece, chunk=part)
                else:
                    yield _Decoded(piece, end=part, chunks=chunks)
        except VideoFault as fault:
            yield _Decoded(piece, fault=unusable(fault))
        except StorageError as error:
            yield _Decoded(piece, stopped=str(error))


class _Networks:
    """Maps rows {"part": _Decoded} to rows {"part": (_Decoded without its chunk, rows of features)}."""

    def __init__(self, chosen: Sequence[Chosen], device: str) -> None:
        import torch

        if device == "cpu":
            torch.set_num_threads(1)  # the same order of summation on every machine
        self._networks = Networks(chosen, device)

    def __call__(self, row: dict[str, Any]) -> dict[str, bytes]:
        part: _Decoded = pickle.loads(row["part"])
        if part.chunk is None:
            return {"part": pickle.dumps((part, []))}
        seen = self._networks.rows(part.chunk)
        return {"part": pickle.dumps((_Decoded(part.piece, chunks=1), seen))}


def extract_on_ray(
    uris: Sequence[str], chosen: Sequence[Chosen], how: Decoding, resources: Resources
) -> Iterator[tuple[int, Extracted]]:
    """(position, features) of every video, in order of completion; Ray must be connected.

    Networks take one chunk at a time, so that features do not depend on the number of actors. Long videos are cut into
    spans, which are decoded in parallel.
    """
    for first in range(0, len(uris), VIDEOS_A_RUN):
        left, losses = list(range(first, min(first + VIDEOS_A_RUN, len(uris)))), 0
        while left:
            done: set[int] = set()
            try:
                for position, found in _run([uris[video] for video in left], chosen, how, resources):
                    done.add(left[position])
                    yield left[position], found
            except RayError:
                losses = 1 if done else losses + 1
                if losses > _LOSSES_IN_A_ROW:
                    raise
            left = [video for video in left if video not in done]


def _run(
    uris: Sequence[str], chosen: Sequence[Chosen], how: Decoding, resources: Resources
) -> Iterator[tuple[int, Extracted]]:
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = _BLOCK_BYTES
    tasks = [{"pieces": pickle.dumps(task)} for task in _tasks(_cut(uris, streams(chosen), how))]
    rows = ray.data.from_items(tasks, override_num_blocks=len(tasks))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Ray 2.64 moves max_restarts
        decoded = rows.flat_map(
            _Decoder,
            fn_constructor_args=(tuple(chosen), how),
            compute=ActorPoolStrategy(min_size=1, max_size=resources.decoders),
            num_cpus=resources.decoder_cpus,
            max_restarts=0,
            num_gpus=resources.decoder_gpus or None,
        )
        seen = decoded.map(
            _Networks,  # type: ignore[arg-type]
            fn_constructor_args=(tuple(chosen), resources.device),
            compute=ActorPoolStrategy(min_size=1, max_size=resources.networks),
            num_cpus=resources.network_cpus,
            max_restarts=0,
            num_gpus=resources.network_gpus or None,
        )
    yield from _gathered((pickle.loads(row["part"]) for row in seen.iter_rows()), chosen)


def _cut(uris: Sequence[str], asked: tuple[Stream, ...], how: Decoding) -> list[Piece]:
    """The pieces of all videos, in order. Tasks open large files to find their duration."""
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
        sizes = list(pool.map(size_of, uris))
    large = [video for video, size in enumerate(sizes) if size >= how.cut.min_bytes]
    measure = ray.remote(num_cpus=_MEASURING_CPUS)(_measured)
    tasks = [large[first : first + _FILES_A_TASK] for first in range(0, len(large), _FILES_A_TASK)]
    found = ray.get([measure.remote([(video, uris[video]) for video in task], asked, how) for task in tasks])
    by_video = {of[0].video: of for part in found for of in part}
    return [piece for video, uri in enumerate(uris) for piece in by_video.get(video, (Piece(video, uri),))]


def _measured(files: Sequence[tuple[int, str]], asked: tuple[Stream, ...], how: Decoding) -> list[tuple[Piece, ...]]:
    with DecodingProcess(how) as process:
        return [pieces(video, uri, asked, how.cut, process) for video, uri in files]


def _tasks(all_: Sequence[Piece]) -> Iterator[list[Piece]]:
    """The pieces of one decoder task: several whole videos, or one span."""
    task: list[Piece] = []
    for piece in all_:
        if task and (piece.span is not None or task[-1].span is not None or len(task) == _VIDEOS_A_TASK):
            yield task
            task = []
        task.append(piece)
    if task:
        yield task


def _gathered(
    parts: Iterator[tuple[_Decoded, list[Rows]]], chosen: Sequence[Chosen]
) -> Iterator[tuple[int, Extracted]]:
    gathering = Gathering([one.recipe.name for one in chosen])
    for part, rows in parts:
        if part.stopped is not None:
            raise StorageError(part.stopped)
        if part.fault is not None:
            yield from gathering.fault(part.piece, part.fault)
        elif part.end is not None:
            yield from gathering.ended(part.piece, part.end, part.chunks)
        else:
            yield from gathering.seen(part.piece, rows, part.chunks)
