"""Videos extracted by Ray Data: decoders on CPUs stream chunks to actors that hold the networks."""

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
from ray.util.annotations import RayDeprecationWarning

from vtr_core.extraction.chosen import Chosen, streams
from vtr_core.extraction.features import Extracted, Unusable, unusable
from vtr_core.extraction.networks import Networks, Rows
from vtr_core.extraction.pieces import Gathering, Piece, pieces
from vtr_core.storage import StorageError
from vtr_core.video.decoders import Decoder
from vtr_core.video.faults import VideoFault
from vtr_core.video.opening import size_of
from vtr_core.video.process import Decoding, DecodingProcess
from vtr_core.video.streams import Chunk, End, Stream

_BLOCK_BYTES = 32 * 2**20
"""Of chunks on their way: a decoder of a long video passes them on as it goes."""
_VIDEOS_A_TASK = 4
_ASKED_AT_ONCE = 32
"""Files whose size is asked for, as a store answers many questions at once."""
_FILES_A_TASK = 32
_MEASURING_CPUS = 0.25
_LOSSES_IN_A_ROW = 3
"""Actors, or nodes with them, that may be lost without a video done. What was under way then is done again by a new
run: actors of Ray Data that restart by themselves make Ray print an error about their arguments at each start."""
VIDEOS_A_RUN = 16_384
"""Of one run of Ray Data, one after another: a run lists its blocks in advance, and videos are done about in order."""


@dataclass(frozen=True)
class Resources:
    """What decoders and networks take. On CPUs both share the cores: who has nothing to do leaves its share."""

    decoders: int
    decoder_cpus: float
    networks: int
    network_cpus: float
    network_gpus: float
    decoder_gpus: float = 0.0

    @classmethod
    def of(cls, cpus: float, gpus: float, gpus_per_network: float, decoder: Decoder) -> "Resources":
        """Of a cluster; every core has a decoder, every core or share of a GPU has the networks.

        Where GPUs decode, two decoders of each share a fifth of it.
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
        """Where the networks are."""
        return "cuda" if self.network_gpus else "cpu"


@dataclass(frozen=True)
class _Decoded:
    """A part of a piece on its way to the networks: a chunk, or at the end how many chunks there were, or the fault."""

    piece: Piece
    chunk: Chunk | None = None
    end: End | None = None
    chunks: int = 0
    fault: Unusable | None = None
    stopped: str | None = None
    """Why no video can be read now."""


class _Decoder:
    """Rows {"pieces": of videos} to rows {"part": _Decoded}, as they are decoded."""

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
    """Rows {"part": _Decoded} to rows {"part": (_Decoded without its chunk, rows of features)}."""

    def __init__(self, chosen: Sequence[Chosen], device: str) -> None:
        import torch

        if device == "cpu":
            torch.set_num_threads(1)  # the same sums wherever a chunk is seen
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
    """(position, features) of every video, in the order in which they are done; Ray is connected to already.

    Networks see a chunk at a time, so that features do not depend on how many of them there are. Long videos are cut
    into spans, which several decoders decode at once.
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
        warnings.simplefilter("ignore", RayDeprecationWarning)  # max_restarts is to have another place in Ray 2.64
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
    """The pieces of all videos, in order. Files that are large are opened, by tasks, to learn how long they are."""
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
    """A decoder's work at a time: some whole videos, or one span."""
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
