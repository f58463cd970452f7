"""An ingest at HowTo100M's size: time, and memory of the command, on made-up narration with the real one's lengths.

    python -m benchmarks.howto_ingest [--ingested 3000 12000] [--counted 30000 120000] …

A video has 113 captions of about four seconds and six words, as HowTo100M has on average (136 M of 1.2 M videos); what
videos say repeats after 2,000 of them. Five stages, each in a process of its own, whose peak memory is the kernel's:

    parsed     the caption file as one value, as it was done before, for comparison
    listed     every video's id and place in the caption file
    counted    listed, then every caption's words in Ray's tasks, added in the command
    ingested   the whole command, with features of 8 values that all videos share; its tasks' memory is not in it
    planned    a manifest of so many videos with 113 clips each: written, loaded, the first batch by Ray Data, and what
               all tasks of an epoch are told. Its shards are one file under many names.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from benchmarks.report.pages import RESULTS, Benchmark, origin
from vtr_core.data.ingest.record_tables import record_groups
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.records.schema import ClipSchema, FeatureSpec, require_clips
from vtr_core.data.shards.shard_file import usable, write_shard
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.data.stream.reading import stream, window_items
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import Vocabulary

T = TypeVar("T")
MAX_WORDS = 20


def plan_an_epoch(folder: Path, videos: int, per_shard: int, clips: int, values: int) -> dict[str, Any]:
    """Make the data set, then load, check and plan it and read its first batch; the seconds of each part."""
    made_data_set(folder, videos, per_shard, clips, (FeatureSpec("video", values),))
    parts: dict[str, float] = {}
    manifest = _timed(parts, "manifest is loaded", lambda: Manifest.load(str(folder)))
    _timed(parts, "shards are looked at", lambda: usable(str(folder), require_clips))
    config = preset("capsule-howto")
    plan = _timed(parts, "plan is made", lambda: Plan(manifest, config.batch, config.seed))
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    first = _timed(parts, "first batch, with Ray's start", lambda: _first_batch(reader, plan))
    assert len(first["clip_key"]) == config.batch.rows

    def epoch() -> int:
        return sum(len(window_items(manifest, plan, range(n, n + 1))) for n in range(plan.windows_per_epoch))

    assert _timed(parts, "epoch is planned", epoch) == plan.windows_per_epoch
    batch = f"{config.batch.videos} videos, {config.batch.clips_per_video} clips of each"
    return {"clips": manifest.rows, "parts": parts, "batch": batch, "steps": plan.steps_per_epoch}


def _first_batch(reader: RowGroupReader, plan: Plan) -> dict[str, np.ndarray]:
    from pipelines.ray_session import connect

    connect()
    return next(stream(reader, plan, Part(0, 1), 0))


def _timed(parts: dict[str, float], name: str, work: Callable[[], T]) -> T:
    began = time.perf_counter()
    result = work()
    parts[name] = time.perf_counter() - began
    return result


def made_data_set(folder: Path, videos: int, per_shard: int, clips: int, features: tuple[FeatureSpec, ...]) -> None:
    """A data set of videos of `clips` clips, every shard the same file of `per_shard` videos."""
    words = WordTable(Vocabulary(tuple(f"w{number}" for number in range(100))))
    schema = ClipSchema(features, MAX_WORDS)
    entries = [VideoEntry(f"v{number}", number) for number in range(per_shard)]
    groups = record_groups(_Clips(clips, features), schema, words.vocabulary, entries, Drops())
    shard = write_shard(schema, groups, locate(folder / "part-00000.parquet"))
    shards = [replace(shard, file=f"part-{number:05d}.parquet") for number in range(videos // per_shard)]
    for other in shards[1:]:
        os.link(folder / shard.file, folder / other.file)
    Manifest(str(folder), schema, words.save(locate(folder)), tuple(shards), {"adapter": "made up"}).save()


class _Clips:
    """Videos of as many clips each, the features of which are constant."""

    name: ClassVar[str] = "made up"

    def __init__(self, clips: int, features: tuple[FeatureSpec, ...]) -> None:
        self._clips, self._features = clips, features

    def settings(self) -> dict[str, Any]:
        """None."""
        return {}

    def features(self) -> tuple[FeatureSpec, ...]:
        """Those given."""
        return self._features

    def videos(self, drops: Drops) -> list[VideoEntry]:  # noqa: ARG002
        """Given elsewhere."""
        return []

    def captions(self, videos: Any) -> list[str]:  # noqa: ARG002
        """The vocabulary is given."""
        return []

    def clips(self, video: VideoEntry, drops: Drops) -> Any:  # noqa: ARG002
        """Clips of five seconds, one after the other."""
        rows = {feature.name: np.full(feature.dim, video.content % 7, np.float16) for feature in self._features}
        for number in range(self._clips):
            start = 5.0 * number
            yield Clip(f"{video.video_id}:{number}", start, start + 5, f"w{number % 100}", rows)


CAPTIONS, SECONDS, WORDS, BODIES = 113, 4.0, 6, 2000
VALUES, VIDEOS_PER_SHARD = 8, 256
DRAWN_WORDS = 300_000
FULL = 1_200_000


@dataclass(frozen=True)
class Flags:
    """How many videos each stage has; 0 leaves it out."""

    parsed: tuple[int, ...] = (3000, 12_000)
    """For comparison; the whole would need tens of GB."""
    listed: tuple[int, ...] = (300_000, FULL)
    """The last of them writes a file of 7 GB."""
    counted: tuple[int, ...] = (30_000, 120_000)
    """A fortieth and a tenth."""
    ingested: tuple[int, ...] = (3000, 6000, 12_000)
    """Up to a hundredth."""
    planned: tuple[int, ...] = (120_000, FULL)
    """The last of them are 136 M clips."""
    work: str = tempfile.gettempdir()
    """Folder on a disk with room, in which what is made up has a folder of its own while it is needed."""
    out: str = str(RESULTS)
    """Folder for howto_ingest.json and howto_ingest.md."""


def measure(flags: Flags) -> dict[str, Any]:
    """Every stage at each of its sizes, in a process of its own."""
    Path(flags.work).mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory(dir=flags.work) as work:
        for stage in STAGES:
            for videos in filter(None, asdict(flags)[stage]):
                rows.append(_in_its_own_process(stage, videos, Path(work)))
                print(json.dumps(rows[-1]), flush=True)
    return {"rows": rows}


def _in_its_own_process(stage: str, videos: int, work: Path) -> dict[str, Any]:
    folder = work / f"{stage}-{videos}"
    folder.mkdir()
    if stage != "planned":
        write_captions(folder / "captions.json", videos)
    command = [sys.executable, "-m", "benchmarks.howto_ingest", "--stage", stage, str(videos), str(folder)]
    load = os.getloadavg()[0]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    shutil.rmtree(folder)
    return {**json.loads(done.stdout.splitlines()[-1]), "load": round(load, 1)}


def _measured(stage: str, videos: int, folder: Path) -> dict[str, Any]:
    began, own = time.perf_counter(), time.process_time()
    more = STAGES[stage](videos, folder)
    return {
        "stage": stage,
        "videos": videos,
        "seconds": time.perf_counter() - began,
        "own_cpu_s": time.process_time() - own,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **more,
    }


def write_captions(file: Path, videos: int) -> None:
    """The caption file, in the form of HowTo100M's: {id: {"start": …, "end": …, "text": …}}."""
    said = list(_bodies())
    with file.open("w") as sink:
        for video in range(videos):
            sink.write(f'{"," if video else "{"} "{video_id(video)}": {said[video % BODIES]}')
        sink.write("}")


def _bodies() -> Iterator[str]:
    generator = np.random.default_rng(0)
    for _ in range(BODIES):
        words = np.minimum(generator.zipf(1.3, (CAPTIONS, WORDS)), DRAWN_WORDS)
        start = np.round(np.cumsum(generator.uniform(0.5, 2 * SECONDS - 0.5, CAPTIONS)), 2)
        text = [" ".join(f"w{word:04d}" for word in row) for row in words]
        yield json.dumps({"start": start.tolist(), "end": np.round(start + SECONDS, 2).tolist(), "text": text})


def video_id(video: int) -> str:
    """Of eleven characters, as YouTube's."""
    return f"v{video:010d}"


def _parsed(videos: int, folder: Path) -> dict[str, Any]:
    from vtr_core import storage
    from vtr_core.storage import locate

    assert len(storage.read_json(locate(folder / "captions.json"))) == videos
    return {}


def _listed(videos: int, folder: Path) -> dict[str, Any]:
    from vtr_core.data.sources.instructional.howto100m import HowTo100M
    from vtr_core.data.sources.source import Drops

    file = folder / "captions.json"
    source = HowTo100M(features_2d=str(folder), annotations=str(file))
    assert len(source.videos(Drops())) == videos
    return {"file_mb": file.stat().st_size / 2**20}


def _counted(videos: int, folder: Path) -> dict[str, Any]:
    from pipelines.ingest.ingest_options import IngestFlags, count_on_ray
    from vtr_core.data.sources.instructional.howto100m import HowTo100M
    from vtr_core.data.sources.source import Drops

    source = HowTo100M(features_2d=str(folder), annotations=str(folder / "captions.json"))
    counts: Counter[str] = count_on_ray(IngestFlags(str(folder / "out")))(source, source.videos(Drops()), "words", None)
    assert counts.total() == videos * CAPTIONS * WORDS
    return {"words": len(counts)}


def _ingested(videos: int, folder: Path) -> dict[str, Any]:
    from pipelines.cli import run
    from vtr_core.data.manifest import Manifest

    (folder / "2d").mkdir()
    rows = np.random.default_rng(0).random((int(2 * SECONDS * CAPTIONS), VALUES)).astype(np.float16)
    np.save(folder / "2d" / f"{video_id(0)}.npy", rows)
    for video in range(1, videos):
        os.link(folder / "2d" / f"{video_id(0)}.npy", folder / "2d" / f"{video_id(video)}.npy")
    paths = ["--features-2d", str(folder / "2d"), "--annotations", str(folder / "captions.json")]
    run("ingest", ["howto100m", *paths, "--out", str(folder / "out")])
    manifest = Manifest.load(str(folder / "out"))
    assert manifest.videos == videos
    return {"clips": manifest.rows}


def _planned(videos: int, folder: Path) -> dict[str, Any]:
    """Seconds of each part, in order."""
    return plan_an_epoch(folder, videos, VIDEOS_PER_SHARD, CAPTIONS, VALUES)


STAGES: dict[str, Callable[[int, Path], dict[str, Any]]] = {
    "parsed": _parsed,
    "listed": _listed,
    "counted": _counted,
    "ingested": _ingested,
    "planned": _planned,
}


def markdown(figures: dict[str, Any]) -> str:
    """The page."""
    rows = figures["rows"]
    lines = [
        "# An ingest at HowTo100M's size",
        "",
        f"Made-up narration with the lengths of HowTo100M's: {CAPTIONS} captions a video, {WORDS} words a caption.",
        "1.2 M videos are the whole. Memory is the peak of the command's own process, in which Ray's tasks are not.",
        "Time depends on how busy the machine was (its load as the stage began), the command's processor time less.",
        "",
        "| stage | videos | captions | seconds | own processor seconds | peak, MB | MB per 100,000 videos | load |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *(_line(row, rows) for row in rows),
        "",
        "`MB per 100,000 videos`: what the stage's peak grows by from its smallest size. `parsed` is the caption file",
        "as one value, as the ingest read it before; the others are what it does now.",
        "",
        *_planning([row for row in rows if row["stage"] == "planned"]),
        *([figures["remark"], ""] if "remark" in figures else []),
        origin(figures),
    ]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    least = next(other for other in rows if other["stage"] == row["stage"])
    more = row["videos"] - least["videos"]
    growth = f"{1e5 * (row['peak_mb'] - least['peak_mb']) / more:,.0f}" if more else ""
    return (
        f"| {row['stage']} | {row['videos']:,} | {row['videos'] * CAPTIONS:,} | {row['seconds']:.1f} | "
        f"{row['own_cpu_s']:.1f} | {row['peak_mb']:,.0f} | {growth} | {row['load']} |"
    )


def _planning(rows: Sequence[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    parts = list(rows[0]["parts"])
    return [
        f"Seconds of planning with the batches of capsule-howto, {rows[0]['batch']}:",
        "",
        "| videos | clips | " + " | ".join(parts) + " |",
        "|---:|---:|" + "---:|" * len(parts),
        *(
            f"| {row['videos']:,} | {row['clips']:,} | " + " | ".join(f"{row['parts'][p]:.2f}" for p in parts) + " |"
            for row in rows
        ),
        "",
    ]


BENCHMARK = Benchmark(
    "benchmarks.howto_ingest",
    Flags,
    measure,
    markdown,
    (
        "ray",
        "pyarrow",
        "numpy",
    ),
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["--stage"]:  # --stage NAME N FOLDER: one measurement, in a process of its own
        print(json.dumps(_measured(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))))
    else:
        BENCHMARK.main(sys.argv[1:])
