"""Extraction in this process, and the files that it writes."""

import io
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from vtr_core import storage
from vtr_core.data.ingest.ingest import do
from vtr_core.data.ingest.plan import IngestPlan, ShardTask
from vtr_core.data.sources.features.feature_arrays import RATES, RECORD
from vtr_core.data.sources.files import check_path
from vtr_core.data.sources.source import MAX_EXAMPLES, Drops
from vtr_core.data.sources.video_files import VideoFile
from vtr_core.errors import RunConflict
from vtr_core.extraction.features import Chosen, Extracted, Networks, Rows, VideoFeatures, assemble, streams
from vtr_core.extraction.source import VideoFiles
from vtr_core.storage import Location
from vtr_core.unusable import Reason, UnusableError
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
                return assemble(rows, part, [choice.recipe.name for choice in chosen], uri)
            assert isinstance(part, Chunk)
            rows += networks.rows(part)
    except UnusableError as fault:
        return fault.with_traceback(None)
    raise AssertionError("a decoder ends with an End or a fault")


Extract = Callable[[Sequence[str]], Iterator[tuple[int, Extracted]]]
"""URIs to (position, features), in any order: `extract_here` or `on_ray.extract_on_ray`."""
_WRITERS = 2


@dataclass(frozen=True)
class Progress:
    """Cumulative progress after a video."""

    videos: int
    of: int
    dropped: int
    seconds: float
    """Total duration of the extracted videos."""
    remarks: int = 0
    """Videos whose time stamps begin again, or whose pictures and sound end apart."""
    examples: tuple[str, ...] = ()
    """What there is to say of the first of them."""

    def after(self, extracted: Extracted) -> "Progress":
        """The progress after one more video."""
        if isinstance(extracted, UnusableError):
            return replace(self, videos=self.videos + 1, dropped=self.dropped + 1)
        done = replace(self, videos=self.videos + 1, seconds=self.seconds + extracted.duration)
        if not extracted.remark:
            return done
        examples = (*self.examples, extracted.remark)[:MAX_EXAMPLES]
        return replace(done, remarks=self.remarks + 1, examples=examples)


def write_shards(plan: IngestPlan, tasks: Sequence[ShardTask], extract: Extract) -> Iterator[Progress]:
    """Extract the videos of `tasks` and write their shards and records.

    The features of a shard's videos, and the pictures that it stores, are kept in memory until it is written.
    """
    assert isinstance(plan.source, VideoFiles)
    videos = [(task, video) for task in tasks for video in task.videos]
    left = {task.name: len(task.videos) for task in tasks}
    waiting: dict[str, dict[str, Extracted]] = {}
    progress = Progress(0, len(videos), 0, 0.0)
    with ThreadPoolExecutor(_WRITERS) as pool:
        writing: list[Future[dict[str, Any]]] = []
        for position, extracted in extract([video.content.uri for _, video in videos]):
            task, video = videos[position]
            waiting.setdefault(task.name, {})[video.video_id] = plan.source.trimmed(video, extracted)
            left[task.name] -= 1
            if not left[task.name]:
                writing.append(pool.submit(_write, plan, task, waiting.pop(task.name)))
                if len(writing) > _WRITERS:
                    writing.pop(0).result()
            progress = progress.after(extracted)
            yield progress
        for future in writing:
            future.result()


def _write(plan: IngestPlan, task: ShardTask, extracted: dict[str, Extracted]) -> dict[str, Any]:
    assert isinstance(plan.source, VideoFiles)
    source: Any = plan.source.holding(extracted)
    return do(replace(plan, source=source, tasks=()), task)


@dataclass(frozen=True)
class NpyFolder:
    """A folder of feature files of one set of recipes, with a record of them; complete, also of the dropped videos."""

    location: Location
    chosen: tuple[Chosen, ...]

    def claim(self) -> None:
        """Write the folder's record; RunConflict where it exists with other recipes or weights."""
        place, recipes = self.location / RECORD, [choice.settings() for choice in self.chosen]
        if not storage.exists(place):
            storage.write_json(place, {"recipes": recipes, RATES: self._rates})
            return
        before = [recipe["fingerprint"] for recipe in storage.read_json(place)["recipes"]]
        if before != [recipe["fingerprint"] for recipe in recipes]:
            raise RunConflict(f"{self.location} holds features of other recipes or weights; choose another folder")

    def holds(self, video: VideoFile) -> bool:
        """Whether the video's features are complete: whether the file that is written last exists."""
        return storage.exists(self._file(self._last(), video.video_id))

    def write(self, video_id: str, features: VideoFeatures) -> None:
        """Write the files of a video, each atomically."""
        last = self._last()
        for position in sorted(features.by_recipe, key=lambda position: position == last):
            content = io.BytesIO()
            np.save(content, features.by_recipe[position], allow_pickle=False)
            storage.write_bytes(self._file(position, video_id), content.getvalue())

    def finish(self, drops: Drops) -> None:
        """Add the dropped videos to the record."""
        recipes = [choice.settings() for choice in self.chosen]
        record = {"recipes": recipes, RATES: self._rates, "complete": True, "dropped": dict(drops.counts)}
        storage.write_json(self.location / RECORD, record)

    @property
    def _rates(self) -> dict[str, float]:
        """Rows a second by the folder of each recipe that has a rate, which `vtr ingest` reads."""
        rates = {choice.recipe.folder: choice.recipe.rows_per_second for choice in self.chosen}
        return {folder: rate for folder, rate in rates.items() if rate is not None}

    def _last(self) -> int:
        """A recipe whose features every video has: one of pictures, if there is one."""
        return max(range(len(self.chosen)), key=lambda i: (self.chosen[i].recipe.modality == "video", i))

    def _file(self, position: int, video_id: str) -> Location:
        return self.location / self.chosen[position].recipe.folder / f"{video_id}.npy"


def write_features(folder: NpyFolder, files: Sequence[VideoFile], extract: Extract, drops: Drops) -> Iterator[Progress]:
    """Extract the videos without features; yields the progress after each, in which those left out are done."""
    folder.claim()
    usable = list(_distinct(files, drops))
    left = [file for file in usable if not folder.holds(file)]
    progress = Progress(len(files) - len(left), len(files), len(files) - len(usable), 0.0)
    for position, extracted in extract([file.uri for file in left]):
        if isinstance(extracted, UnusableError):
            drops.drop(extracted.reason, str(extracted))
        else:
            folder.write(left[position].video_id, extracted)
        progress = progress.after(extracted)
        yield progress
    folder.finish(drops)


def _distinct(files: Sequence[VideoFile], drops: Drops) -> Iterator[VideoFile]:
    """The videos whose ids are valid paths below a folder, without repeated ids."""
    ids: set[str] = set()
    for file in files:
        try:
            check_path(file.video_id.lstrip("/"))
            if file.video_id in ids:
                raise UnusableError(Reason.DUPLICATE_ID, f"{file.uri}: another video has the id {file.video_id}")
        except UnusableError as fault:
            drops.drop(fault.reason, str(fault))
        else:
            ids.add(file.video_id)
            yield file
