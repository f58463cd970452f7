"""Videos extracted by Ray Data: decoders on CPUs stream chunks to actors that hold the networks."""

import math
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.data import ActorPoolStrategy, DataContext

from vtr_core.extraction.chosen import Chosen, streams
from vtr_core.extraction.features import Extracted, Unusable, assemble, unusable
from vtr_core.extraction.networks import Networks, Rows
from vtr_core.storage import StorageError
from vtr_core.video.faults import VideoFault
from vtr_core.video.process import DecodingProcess, Limits
from vtr_core.video.streams import Chunk, End

_BLOCK_BYTES = 32 * 2**20
"""Of chunks on their way: a decoder of a long video passes them on as it goes."""
_VIDEOS_A_TASK = 4
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

    @classmethod
    def of(cls, cpus: float, gpus: float, gpus_per_network: float) -> "Resources":
        """Of a cluster; every core has a decoder, every core or share of a GPU has the networks."""
        cores = max(1, math.floor(cpus))
        if gpus and gpus_per_network:
            return cls(cores, 1.0, max(1, math.floor(gpus / gpus_per_network)), 0.0, gpus_per_network)
        return cls(cores, 0.25, cores, 0.75, 0.0)

    @property
    def device(self) -> str:
        """Where the networks are."""
        return "cuda" if self.network_gpus else "cpu"


@dataclass(frozen=True)
class _Decoded:
    """A part of a video on its way to the networks: a chunk, or at the end how many chunks there were, or the fault."""

    video: int
    chunk: Chunk | None = None
    end: End | None = None
    chunks: int = 0
    fault: Unusable | None = None
    stopped: str | None = None
    """Why no video can be read now."""


@dataclass
class _Gathered:
    """What has come of one video."""

    rows: list[Rows] = field(default_factory=list)
    chunks: int = 0
    expected: int | None = None
    duration: float = 0.0


class _Decoder:
    """Rows {"videos": (position, uri) pairs} to rows {"part": _Decoded}, as they are decoded."""

    def __init__(self, chosen: Sequence[Chosen], limits: Limits) -> None:
        self._streams = streams(chosen)
        self._process = DecodingProcess(limits)

    def __call__(self, row: dict[str, Any]) -> Iterator[dict[str, bytes]]:
        for video, uri in pickle.loads(row["videos"]):
            for part in self._parts(video, uri):
                yield {"part": pickle.dumps(part)}

    def _parts(self, video: int, uri: str) -> Iterator[_Decoded]:
        chunks = 0
        try:
            for part in self._process.decode(uri, self._streams):
                if isinstance(part, Chunk):
                    chunks += 1
                    yield _Decoded(video, chunk=part)
                else:
                    yield _Decoded(video, end=part, chunks=chunks)
        except VideoFault as fault:
            yield _Decoded(video, fault=unusable(fault))
        except StorageError as error:
            yield _Decoded(video, stopped=str(error))


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
        return {"part": pickle.dumps((_Decoded(part.video, chunks=1), seen))}


def extract_on_ray(
    uris: Sequence[str], chosen: Sequence[Chosen], limits: Limits, resources: Resources
) -> Iterator[tuple[int, Extracted]]:
    """(position, features) of every video, in the order in which they are done; Ray is connected to already.

    Networks see a chunk at a time, so that features do not depend on how many of them there are.
    """
    for first in range(0, len(uris), VIDEOS_A_RUN):
        for position, found in _run(uris[first : first + VIDEOS_A_RUN], chosen, limits, resources):
            yield first + position, found


def _run(
    uris: Sequence[str], chosen: Sequence[Chosen], limits: Limits, resources: Resources
) -> Iterator[tuple[int, Extracted]]:
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = _BLOCK_BYTES
    numbered = list(enumerate(uris))
    tasks = [numbered[first : first + _VIDEOS_A_TASK] for first in range(0, len(numbered), _VIDEOS_A_TASK)]
    rows = ray.data.from_items([{"videos": pickle.dumps(task)} for task in tasks], override_num_blocks=len(tasks))
    decoded = rows.flat_map(
        _Decoder,
        fn_constructor_args=(tuple(chosen), limits),
        compute=ActorPoolStrategy(min_size=1, max_size=resources.decoders),
        num_cpus=resources.decoder_cpus,
    )
    seen = decoded.map(
        _Networks,  # type: ignore[arg-type]
        fn_constructor_args=(tuple(chosen), resources.device),
        compute=ActorPoolStrategy(min_size=1, max_size=resources.networks),
        num_cpus=resources.network_cpus,
        num_gpus=resources.network_gpus or None,
    )
    yield from _gather((pickle.loads(row["part"]) for row in seen.iter_rows()), uris, chosen)


def _gather(
    parts: Iterator[tuple[_Decoded, list[Rows]]], uris: Sequence[str], chosen: Sequence[Chosen]
) -> Iterator[tuple[int, Extracted]]:
    names = [one.recipe.name for one in chosen]
    open_: dict[int, _Gathered] = {}
    faulty: set[int] = set()
    for part, rows in parts:
        if part.stopped is not None:
            raise StorageError(part.stopped)
        if part.fault is not None:
            faulty.add(part.video)
            open_.pop(part.video, None)
            yield part.video, part.fault
        elif part.video not in faulty:
            video = open_.setdefault(part.video, _Gathered())
            if _is_complete(video, part, rows):
                del open_[part.video]
                yield part.video, assemble(video.rows, video.duration, names, uris[part.video])


def _is_complete(video: _Gathered, part: _Decoded, rows: list[Rows]) -> bool:
    """Add a part; whether all chunks that the decoder counted are there."""
    if part.end is not None:
        video.expected, video.duration = part.chunks, part.end.duration
    else:
        video.rows += rows
        video.chunks += 1
    return video.expected == video.chunks
