"""Extraction by Ray Data: decoders on CPUs stream chunks to actors that hold the networks."""

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import ray
from ray.data import ActorPoolStrategy, DataContext
from ray.exceptions import RayError

from vtr_core.extraction.features import Chosen, Extracted, Networks, Rows, assemble, streams
from vtr_core.storage import StorageError
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.process import DecoderError, DecodingProcess, Limits
from vtr_core.video.streams import Chunk, End

_BLOCK_BYTES = 32 * 2**20
"""Bytes of a block of chunks; small, so that the chunks of a long video are passed on while it is decoded."""
_VIDEOS_PER_TASK = 4
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

    @classmethod
    def of(cls, cpus: float, gpus: float, gpus_per_network: float) -> "Resources":
        """The resources for a cluster: one decoder per core, the networks once per core or share of a GPU."""
        cores = max(1, math.floor(cpus))
        if not gpus or not gpus_per_network:
            return cls(cores, 0.25, cores, 0.75, 0.0)
        return cls(cores, 1.0, max(1, math.floor(gpus / gpus_per_network)), 0.0, gpus_per_network)

    @property
    def device(self) -> str:
        """The torch device of the networks."""
        return "cuda" if self.network_gpus else "cpu"


@dataclass(frozen=True)
class _Decoded:
    """Decoder output for the networks: a chunk of a video, or at its end the number of chunks, or the fault."""

    video: int
    """Position among the videos of the run."""
    chunk: Chunk | None = None
    end: End | None = None
    chunks: int = 0
    fault: UnusableError | None = None
    stopped: tuple[str, str] | None = None
    """Why no video can be read at present, where a store or every decoder fails: the error's class and message."""


def _to_row(part: _Decoded, features: Sequence[Rows] = ()) -> dict[str, str | bytes]:
    """A part and its rows of features as plain columns: their description as JSON, and the bytes of the arrays."""
    arrays = [rows.values for rows in features] if part.chunk is None else [part.chunk.values]
    cells = [list(array) if array.dtype == object else [array.tobytes()] for array in arrays]
    description = {
        "video": part.video,
        "chunk": None if part.chunk is None else (part.chunk.stream, part.chunk.index),
        "end": None if part.end is None else asdict(part.end),
        "chunks": part.chunks,
        "fault": None if part.fault is None else (part.fault.reason.value, str(part.fault)),
        "stopped": part.stopped,
        "features": [(rows.recipe, rows.chunk) for rows in features],
        "arrays": [(array.dtype.str, array.shape, list(map(len, of))) for array, of in zip(arrays, cells, strict=True)],
    }
    return {"part": json.dumps(description), "bytes": b"".join(cell for of in cells for cell in of)}


def _from_row(row: Mapping[str, Any]) -> tuple[_Decoded, list[Rows]]:
    """The inverse of `_to_row`."""
    part = json.loads(row["part"])
    arrays = list(_arrays(row["bytes"], part.pop("arrays")))
    features = [Rows(*[*place, values]) for place, values in zip(part.pop("features"), arrays, strict=False)]
    if part["chunk"] is not None:
        part["chunk"] = Chunk(*[*part["chunk"], arrays[0]])
    if part["end"] is not None:
        part["end"] = End(**part["end"])
    if part["fault"] is not None:
        part["fault"] = UnusableError(Reason(part["fault"][0]), part["fault"][1])
    if part["stopped"] is not None:
        part["stopped"] = tuple(part["stopped"])
    return _Decoded(**part), features


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


class _Decoder:
    """Maps rows {"videos": positions and URIs of videos} to rows of `_to_row`, streaming."""

    def __init__(self, chosen: Sequence[Chosen], limits: Limits) -> None:
        self._streams = streams(chosen)
        self._process = DecodingProcess(limits)

    def __call__(self, row: dict[str, Any]) -> Iterator[dict[str, str | bytes]]:
        for video, uri in json.loads(row["videos"]):
            yield from map(_to_row, self._parts(video, uri))

    def _parts(self, video: int, uri: str) -> Iterator[_Decoded]:
        chunks = 0
        try:
            for part in self._process.decode(uri, self._streams):
                if isinstance(part, Chunk):
                    chunks += 1
                    yield _Decoded(video, chunk=part)
                else:
                    yield _Decoded(video, end=part, chunks=chunks)
        except UnusableError as fault:
            yield _Decoded(video, fault=fault)
        except (StorageError, DecoderError) as error:
            yield _Decoded(video, stopped=(type(error).__name__, str(error)))


class _Networks:
    """Maps rows of `_to_row` with chunks to such with the features of these."""

    def __init__(self, chosen: Sequence[Chosen], device: str) -> None:
        import torch

        if device == "cpu":
            torch.set_num_threads(1)  # the same order of summation on every machine
        self._networks = Networks(chosen, device)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        part, _ = _from_row(row)
        return row if part.chunk is None else _to_row(_Decoded(part.video, chunks=1), self._networks.rows(part.chunk))


def extract_on_ray(
    uris: Sequence[str], chosen: Sequence[Chosen], limits: Limits, resources: Resources
) -> Iterator[tuple[int, Extracted]]:
    """(position, features) of every video, in order of completion; Ray must be connected.

    Networks take one chunk at a time, so that features do not depend on the number of actors.
    """
    for first in range(0, len(uris), VIDEOS_A_RUN):
        left, losses = list(range(first, min(first + VIDEOS_A_RUN, len(uris)))), 0
        while left:
            done: set[int] = set()
            try:
                for position, extracted in _run([uris[video] for video in left], chosen, limits, resources):
                    done.add(left[position])
                    yield left[position], extracted
            except RayError:
                losses = 1 if done else losses + 1
                if losses > _LOSSES_IN_A_ROW:
                    raise
            left = [video for video in left if video not in done]


def _run(
    uris: Sequence[str], chosen: Sequence[Chosen], limits: Limits, resources: Resources
) -> Iterator[tuple[int, Extracted]]:
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = _BLOCK_BYTES
    videos = list(enumerate(uris))
    tasks = [{"videos": json.dumps(videos[i : i + _VIDEOS_PER_TASK])} for i in range(0, len(uris), _VIDEOS_PER_TASK)]
    rows = ray.data.from_items(tasks, override_num_blocks=len(tasks))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Ray 2.64 moves max_restarts
        decoded = rows.flat_map(
            _Decoder,
            fn_constructor_args=(tuple(chosen), limits),
            compute=ActorPoolStrategy(min_size=1, max_size=resources.decoders),
            num_cpus=resources.decoder_cpus,
            max_restarts=0,
        )
        features = decoded.map(
            _Networks,  # type: ignore[arg-type]
            fn_constructor_args=(tuple(chosen), resources.device),
            compute=ActorPoolStrategy(min_size=1, max_size=resources.networks),
            num_cpus=resources.network_cpus,
            max_restarts=0,
            num_gpus=resources.network_gpus or None,
        )
    yield from _gathered(map(_from_row, features.iter_rows()), uris, [choice.recipe.name for choice in chosen])


@dataclass
class _Video:
    """The rows and chunks received of one video, and its end, with the number of its chunks."""

    rows: list[Rows] = field(default_factory=list)
    chunks: int = 0
    end: tuple[End, int] | None = None


def _gathered(
    parts: Iterator[tuple[_Decoded, list[Rows]]], uris: Sequence[str], names: Sequence[str]
) -> Iterator[tuple[int, Extracted]]:
    """The videos from parts that arrive in any order; names: the recipes' names."""
    videos: dict[int, _Video] = {}
    faulty: set[int] = set()
    for part, rows in parts:
        if part.stopped is not None:
            kind, message = part.stopped
            raise DecoderError(message) if kind == DecoderError.__name__ else StorageError(message)
        if part.fault is not None:
            videos.pop(part.video, None)
            faulty.add(part.video)
            yield part.video, part.fault
        if part.video in faulty:
            continue
        video = videos.setdefault(part.video, _Video())
        if part.end is not None:
            video.end = part.end, part.chunks
        else:
            video.rows += rows
            video.chunks += part.chunks
        if video.end is not None and video.chunks == video.end[1]:
            del videos[part.video]
            yield part.video, assemble(video.rows, video.end[0], names, uris[part.video])
