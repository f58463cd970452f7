"""`vtr embed`, `evaluate`, `index` and `search` of many clips: time, and memory over time, of each command.

    python -m benchmarks.at_scale.commands [--clips 1000000] [--dim 128] [--queries 10000]

The clips are made up, with one feature of 32 values and a caption of six words; the model is capsule-howto-tiny with an
embedding of `--dim`, trained by `vtr train` on other clips of the same words. Every command is a process of its own
without Ray, as `vtr embed --workers 0` is; its memory is looked at once or twice a second.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float32

from benchmarks.feeding.memory import memory
from benchmarks.report.pages import RESULTS, Benchmark, origin
from vtr_core.data.ingest.ingest import begin, do, finish
from vtr_core.data.ingest.plan import IngestOptions, plan_ingest
from vtr_core.data.manifest import FILE, Manifest
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import Vocabulary

NUM_WORDS, WORDS, CLIPS, DIM = 400, 6, 128, 32
"""Words of the world and of a caption, clips of a video, and values of a clip's one feature, `video`."""
_CLIP_S, _NOISE = 4.0, 0.5
_VIDEOS_PER_SHARD = 64


@dataclass(frozen=True)
class MadeClips:
    """A source of videos of CLIPS clips: a clip's feature is the sum of its words' vectors with noise."""

    num_videos: int
    seed: int = 0
    """Of the clips; words mean the same for every seed."""
    name: ClassVar[str] = "made"

    def settings(self) -> dict[str, Any]:
        """What the rows depend on."""
        return asdict(self)

    def features(self) -> tuple[FeatureSpec, ...]:
        """One feature."""
        return (FeatureSpec("video", DIM),)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002  (nothing is dropped)
        """All videos by their index."""
        return [VideoEntry(f"v{index:06d}", index) for index in range(self.num_videos)]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """Not asked for: the vocabulary is given."""
        raise NotImplementedError(f"the vocabulary of {len(videos)} videos is given")

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:  # noqa: ARG002  (nothing is dropped)
        """The clips of one video."""
        generator = np.random.default_rng([self.seed, video.content])
        words = generator.integers(NUM_WORDS, size=(CLIPS, WORDS))
        noise = _NOISE * generator.standard_normal((CLIPS, DIM), np.float32)
        rows = (self._meanings[words].mean(axis=1) * np.sqrt(WORDS) + noise).astype(np.float16)
        for index, (row, said) in enumerate(zip(rows, words.tolist(), strict=True)):
            start, text = index * _CLIP_S, " ".join(f"w{word}" for word in said)
            yield Clip(f"{video.video_id}_{index:03d}", start, start + _CLIP_S, text, {"video": row})

    @cached_property
    def _meanings(self) -> Float32[np.ndarray, "words dim"]:
        return np.random.default_rng(0).standard_normal((NUM_WORDS, DIM), np.float32)


def write_clips(folder: Path, clips: int, seed: int = 0) -> Manifest:
    """A data set of at least so many clips in `folder`, unless one is there already."""
    if (folder / FILE).exists():
        return Manifest.load(str(folder))
    source = MadeClips(-(-clips // CLIPS), seed)
    words = WordTable(Vocabulary(tuple(f"w{word}" for word in range(NUM_WORDS))))
    options = IngestOptions(max_words=WORDS, videos_per_shard=_VIDEOS_PER_SHARD)
    plan = plan_ingest(source, locate(str(folder)), words, options)
    for task in begin(plan):
        do(plan, task)
    return finish(plan).manifests[0]


LEARNT, TENTHS, POINTS = 20_000, 10, 60
"""Clips that the model is trained on; points of a command's duration at which the page tells its memory, and at which
the figures keep it: a multiple, so that the page is that of all looks."""
ASKED = ("w1 w2 w3 w4 w5 w6", "w10 w20 w30 w40 w50 w60")


@dataclass(frozen=True)
class Flags:
    """What is measured."""

    clips: int = 1_000_000
    dim: int = 128
    """Dimension of the embeddings."""
    queries: int = 10_000
    """Queries of each direction, which are compared with all items."""
    epochs: int = 1
    threads: int = 2
    folder: str = ""
    """Where data, model and figures are kept; the same command again runs what is not there yet (default: a temporary
    folder)."""
    out: str = str(RESULTS)


@dataclass(frozen=True)
class Run:
    """What a command took."""

    name: str
    wall_s: float
    processor_s: float
    peak_gb: float
    """The most memory at any look, without pages of files."""
    peak_with_mapped_gb: float
    """The same with pages of files, which the system may drop at any time."""
    private_gb: tuple[float, ...]
    """Memory without pages of files at `POINTS` times of the run, or at each look where there were fewer."""
    bytes: int
    """What it wrote."""


def watched(name: str, words: Sequence[str], folder: Path, threads: int) -> Run:
    """Run `vtr` with `words`; what it prints is kept in `folder`. Raises RuntimeError where it fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/runs.db"}
    printed = folder / f"{name.replace(' ', '-')}.txt"
    began, seen = time.perf_counter(), []
    with printed.open("w") as output:
        command = [sys.executable, "-m", "pipelines.cli", *words]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            seen.append(memory(process.pid))
            time.sleep(0.5)
    process.returncode = os.waitstatus_to_exitcode(ended[1])
    if process.returncode:
        raise RuntimeError(f"vtr {' '.join(words)} failed:\n{printed.read_text()}")
    seen = [look for look in seen if look.processes]  # the last look may find it ended
    private = [(look.processes - look.mapped) / 2**30 for look in seen]
    wall, used = time.perf_counter() - began, ended[2].ru_utime + ended[2].ru_stime
    peaks = max(private), max(look.processes for look in seen) / 2**30
    return Run(name, wall, used, *peaks, at_points(private, min(POINTS, len(private))), _written(words))


def at_points(values: Sequence[float], points: int) -> tuple[float, ...]:
    """The value at the end of each of `points` equal parts of the time in which `values` were seen."""
    return tuple(values[max(0, round(part * len(values) / points) - 1)] for part in range(1, points + 1))


def _written(words: Sequence[str]) -> int:
    """Bytes of the command's --out, 0 without one."""
    if "--out" not in words:
        return 0
    files = Path(words[words.index("--out") + 1]).rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def commands(flags: Flags, folder: Path) -> dict[str, list[str]]:
    """The words of every command by its name, in turn."""
    model, data = str(folder / "model"), str(folder / "clips")
    embedded, index, lists = str(folder / "embedded"), str(folder / "index"), str(folder / "index-ivf-pq")
    sizes = ["--model.embedding-dim", str(flags.dim), "--evaluation.similarity", "cosine", "--batch.videos", "8"]
    train = ["train", "capsule-howto-tiny", "--data", str(folder / "learnt"), "--out", model, "--scaling.workers", "0"]
    sampled = ["--sample-queries", str(flags.queries)]
    return {
        "train": [*train, "--training.epochs", str(flags.epochs), *sizes],
        "embed": ["embed", model, "--data", data, "--out", embedded, "--workers", "0"],
        "evaluate": ["evaluate", model, "--data", data, "--embeddings", embedded, *sampled],
        "index exact": ["index", "--embeddings", embedded, "--out", index],
        "index ivf-pq": ["index", "--embeddings", embedded, "--out", lists, "--backend", "ivf-pq"],
        "search exact": ["search", *ASKED, "--index", index, "--json"],
        "search ivf-pq": ["search", *ASKED, "--index", lists, "--json"],
    }


def measured(flags: Flags, folder: Path) -> dict[str, Any]:
    """The data, and then every command."""
    write_clips(folder / "learnt", LEARNT, seed=1)
    clips = write_clips(folder / "clips", flags.clips)
    runs = []
    for name, words in commands(flags, folder).items():
        kept = folder / f"{name.replace(' ', '-')}.json"
        if not kept.exists():
            kept.write_text(json.dumps(asdict(watched(name, words, folder, flags.threads))))
        runs.append(json.loads(kept.read_text()))
        print(f"{name}: {runs[-1]['wall_s']:.0f} s", flush=True)
    return {"rows": clips.rows, "runs": runs, "figures": _figures(folder)}


def _figures(folder: Path) -> list[str]:
    """The lines of the evaluation's table."""
    lines = (folder / "evaluate.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.startswith(("┃", "│"))]


def measure(flags: Flags) -> dict[str, Any]:
    """The commands in the folder of the flags, or in a new one."""
    with tempfile.TemporaryDirectory() as new:
        folder = Path(flags.folder or new)
        folder.mkdir(parents=True, exist_ok=True)
        return {"dim": flags.dim, "queries": flags.queries, **measured(flags, folder)}


def markdown(values: dict[str, Any]) -> str:
    """The page."""
    figures = "\n".join(f"    {line}" for line in values["figures"])
    busy = "Other work ran on the machine: compare processor times, not clocks.\n" if values["load"] > 2 else ""
    heads = " | ".join(f"{tenth * 10} %" for tenth in range(1, TENTHS + 1))
    return f"""# The commands on {values["rows"]:,} clips

Made-up clips with one feature of 32 values and a caption of six words, embedded in {values["dim"]} dimensions (text and
video) by a capsule network that was trained on {LEARNT:,} others; {values["queries"]:,} queries of each direction are
compared with all items. Each command is a process of its own without Ray, start included.

| command | seconds | processor seconds | peak memory, GB | with mapped files, GB | written, GB |
|---|---:|---:|---:|---:|---:|
{chr(10).join(_row(run) for run in values["runs"])}

Private memory in GB at each tenth of the command's duration:

| command | {heads} |
|---|{"---:|" * TENTHS}
{chr(10).join(_over_time(run) for run in values["runs"])}

The evaluation's table:

{figures}

{busy}One run, load {values["load"]:.1f} at the end. {origin(values)}
"""


def _row(run: dict[str, Any]) -> str:
    times = f"{run['wall_s']:.0f} | {run['processor_s']:.0f}"
    written = f"{run['bytes'] / 2**30:.2f}" if run["bytes"] else "–"
    return f"| `vtr {run['name']}` | {times} | {run['peak_gb']:.2f} | {run['peak_with_mapped_gb']:.2f} | {written} |"


def _over_time(run: dict[str, Any]) -> str:
    tenths = " | ".join(f"{gb:.2f}" for gb in at_points(run["private_gb"], TENTHS))
    return f"| `vtr {run['name']}` | {tenths} |"


BENCHMARK = Benchmark(
    "benchmarks.at_scale.commands",
    Flags,
    measure,
    markdown,
    (
        "torch",
        "numpy",
        "pyarrow",
    ),
)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
