"""Extraction by Ray Data: decoders on CPUs stream chunks to actors that hold the networks."""

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import ray
from ray.data import ActorPoolStrategy, DataContext
from ray.exceptions import RayError

from vtr_core.data.sources.reasons import Reason
from vtr_core.extraction.features import Extracted, Unusable, unusable
from vtr_core.extraction.in_process import Gathering, Piece, pieces
from vtr_core.extraction.networks import Chosen, Networks, Rows, streams
from vtr_core.storage import StorageError
from vtr_core.video.decoders import Decoder, VideoFault
from vtr_core.video.decoding import size_of
from vtr_core.video.process import Decoding, DecodingProcess
from vtr_core.video.streams import Chunk, End, Span, Stream

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


def _to_row(part: _Decoded, seen: Sequence[Rows] = ()) -> dict[str, str | bytes]:
    """A part and its rows of features as plain columns: what is said of them as JSON, and the bytes of the arrays."""
    arrays = [one.values for one in seen] if part.chunk is None else [part.chunk.values]
    cells = [list(array) if array.dtype == object else [array.tobytes()] for array in arrays]
    told = {
        "piece": asdict(part.piece),
        "chunk": None if part.chunk is None else (part.chunk.stream, part.chunk.index),
        "end": None if part.end is None else asdict(part.end),
        "chunks": part.chunks,
        "fault": None if part.fault is None else (part.fault.reason.value, part.fault.what),
        "stopped": part.stopped,
        "seen": [(one.recipe, one.chunk) for one in seen],
        "arrays": [(array.dtype.str, array.shape, list(map(len, of))) for array, of in zip(arrays, cells, strict=True)],
    }
    return {"part": json.dumps(told), "bytes": b"".join(cell for of in cells for cell in of)}


def _from_row(row: Mapping[str, Any]) -> tuple[_Decoded, list[Rows]]:
    """The inverse of `_to_row`."""
    told = json.loads(row["part"])
    arrays = list(_arrays(row["bytes"], told["arrays"]))
    part = _Decoded(
        _piece(told["piece"]),
        None if told["chunk"] is None else Chunk(told["chunk"][0], told["chunk"][1], arrays[0]),
        None if told["end"] is None else End(**told["end"]),
        told["chunks"],
        None if told["fault"] is None else Unusable(Reason(told["fault"][0]), told["fault"][1]),
        told["stopped"],
    )
    return part, [Rows(recipe, chunk, of) for (recipe, chunk), of in zip(told["seen"], arrays, strict=False)]


def _arrays(content: bytes, described: Sequence[Sequence[Any]]) -> Iterator[np.ndarray]:
    """The arrays of these (dtype, shape, lengths of cells) each; writable, as torch asks for."""
    begin = 0
    for dtype, shape, lengths in described:
        cells = []
        for length in lengths:
            cells.append(content[begin : begin + length])
            begin += length
        array = np.empty(shape, dtype)
        if array.dtype == object:
            array[:] = cells
        else:
            array[...] = np.frombuffer(cells[0], dtype).reshape(shape)
        yield array


def _piece(told: Mapping[str, Any]) -> Piece:
    span = told["span"]
    return Piece(**{**told, "span": None if span is None else Span(**{**span, "streams": tuple(span["streams"])})})


class _Decoder:
    """Maps rows {"pieces": pieces of videos} to rows of `_to_row`, streaming."""

    def __init__(self, chosen: Sequence[Chosen], how: Decoding) -> None:
        self._streams = streams(chosen)
        self._process = DecodingProcess(how)

    def __call__(self, row: dict[str, Any]) -> Iterator[dict[str, str | bytes]]:
        for piece in map(_piece, json.loads(row["pieces"])):
            yield from map(_to_row, self._parts(piece))

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
    """Maps rows of `_to_row` with chunks to such with the features of these."""

    def __init__(self, chosen: Sequence[Chosen], device: str) -> None:
        import torch

        if device == "cpu":
            torch.set_num_threads(1)  # the same order of summation on every machine
        self._networks = Networks(chosen, device)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        part, _ = _from_row(row)
        return row if part.chunk is None else _to_row(_Decoded(part.piece, chunks=1), self._networks.rows(part.chunk))


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
    tasks = [{"pieces": json.dumps(list(map(asdict, task)))} for task in _tasks(_cut(uris, streams(chosen), how))]
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
    yield from _gathered(map(_from_row, seen.iter_rows()), chosen)


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
