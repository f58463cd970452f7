"""How many times as fast as slow, obvious code each thing is: a few minutes, to see that none has lost its speed.

    python -m benchmarks.smoke [--rounds 3] [--out benchmarks/results]

Each thing and its slow reference do the same work in turns in one process with one thread, and the median of the ratios
within a turn is the row. What is counted is the thread's processor time, so that other programs on the machine decide
nothing; short calls are repeated. The tests hold the rows against those of the page within a wide factor.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import thread_time
from timeit import Timer
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.report.pages import RESULTS, Benchmark
from benchmarks.similarity import broadcast
from tests.reference import captioning, ranking
from tests.reference.selective_scan import selective_scan as slow_scan
from vtr_core.config.losses import MaskedMarginSoftmaxConfig
from vtr_core.data.batches import RowKeys
from vtr_core.losses.contrastive import build_objective
from vtr_core.metrics.captioning import cider
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.nn.embeddings import Embeddings
from vtr_core.nn.mamba.scan import selective_scan
from vtr_core.run.presets import preset
from vtr_core.similarity import generalized_jaccard
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint
from vtr_core.train.loop.recorder import Snapshots


@dataclass(frozen=True)
class Row:
    """One comparison."""

    name: str
    against: str
    ours: Callable[[], object]
    slow: Callable[[], object]


def jaccard() -> Row:
    """Generalised Jaccard of every caption with every video."""
    text, video = _draw(1000, 256).sigmoid(), _draw(400, 256, seed=1).sigmoid()
    return Row(
        "generalised Jaccard, 1,000 × 400 × 256",
        "broadcast in batches",
        partial(generalized_jaccard, text, video),
        partial(broadcast, text, video, 32),
    )


def ranks() -> Row:
    """Recalls and ranks of a similarity matrix."""
    similarity = _draw(300, 300).double().numpy()
    relevant = np.eye(300, dtype=bool)
    return Row(
        "retrieval metrics, 300 × 300",
        "counting entry by entry",
        partial(retrieval_metrics, similarity),
        lambda: [ranking.recall(similarity, relevant, k, "expected") for k in (1, 5, 10)],
    )


def captions() -> Row:
    """CIDEr of a hypothesis for each of many videos."""
    words = [f"w{i}" for i in range(300)]
    drawn = torch.randint(300, (100, 11, 10), generator=torch.Generator().manual_seed(0)).tolist()
    texts = [[" ".join(words[i] for i in caption) for caption in video] for video in drawn]
    hypotheses = {str(i): video[0] for i, video in enumerate(texts)}
    references = {str(i): video[1:] for i, video in enumerate(texts)}
    return Row(
        "CIDEr, 100 videos of 10 captions",
        "word by word",
        partial(cider, hypotheses, references),
        partial(captioning.cider, hypotheses, references),
    )


def scan() -> Row:
    """The selective scan of a state space model."""
    u, delta = _draw(2, 8, 64), _draw(2, 8, 64, seed=1).sigmoid()
    a, b, c = -_draw(8, 4, seed=2).exp(), _draw(2, 4, 64, seed=3), _draw(2, 4, 64, seed=4)
    return Row(
        "selective scan, 64 tokens",
        "state by state",
        partial(selective_scan, u, delta, a, b, c),
        partial(slow_scan, u, delta, a, b, c),
    )


def loss() -> Row:
    """MMS with its gradient: a block of all rows, and one row at a time."""
    rows = 512
    vectors = {name: _draw(rows, 256, seed=i) / 16 for i, name in enumerate(("text", "video", "audio"))}
    keys = RowKeys(torch.arange(rows), torch.arange(rows) // 4, torch.arange(rows))

    def step(config: MaskedMarginSoftmaxConfig) -> None:
        held = {name: values.clone().requires_grad_() for name, values in vectors.items()}
        present = {name: torch.ones(rows, dtype=torch.bool) for name in vectors}
        build_objective(config)(Embeddings(held, present), keys, 0).total.backward()

    plain = MaskedMarginSoftmaxConfig()
    by_row = plain.model_copy(update={"block_rows": 1})
    return Row("MMS with gradient, 512 clips", "row by row", partial(step, plain), partial(step, by_row))


def checkpoint() -> Row:
    """How long training stops for a checkpoint."""
    weights = {f"weight{i}": _draw(1000, 1000, seed=i) for i in range(12)}
    config = preset("capsule-howto-tiny")
    held = Checkpoint(config, weights, {}, Progress(step=1), Vocabulary(()))
    snapshots, folder = Snapshots(), tempfile.TemporaryDirectory()

    def write() -> None:
        save_checkpoint(locate(folder.name) / "step-00000001", held)

    return Row(
        "stop for a checkpoint of 48 MB", "written before training goes on", partial(snapshots.take, held), write
    )


ROWS: tuple[Callable[[], Row], ...] = (jaccard, ranks, captions, scan, loss, checkpoint)


def _draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@dataclass(frozen=True)
class Flags:
    """How often, and where to."""

    rounds: int = 3
    """Turns that are timed, after one that is not."""
    out: str = str(RESULTS)
    """Folder for smoke.json and smoke.md."""


def measure(flags: Flags) -> dict[str, Any]:
    """All rows."""
    return {"rows": ratios(flags.rounds)}


def ratios(rounds: int) -> list[dict[str, Any]]:
    """Every row: its name, what it is compared with, seconds of processor time of both, the ratio."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [
            {"name": row.name, "against": row.against, **_ratio(row.ours, row.slow, rounds)}
            for row in (make() for make in ROWS)
        ]
    finally:
        torch.set_num_threads(threads)


def _ratio(ours: Callable[[], object], slow: Callable[[], object], rounds: int) -> dict[str, float]:
    turns = [(_seconds(ours), _seconds(slow)) for _ in range(rounds + 1)][1:]
    return {
        "ours_s": median(own for own, _ in turns),
        "slow_s": median(other for _, other in turns),
        "ratio": median(other / own for own, other in turns),
    }


def _seconds(call: Callable[[], object]) -> float:
    calls, seconds = Timer(call, timer=thread_time).autorange()
    return seconds / calls


def markdown(figures: dict[str, Any]) -> str:
    """The page."""
    return "\n".join(
        [
            "# Each thing beside slow, obvious code",
            "",
            "| | against | slow, s | ours, s | times as fast |",
            "|---|---|---:|---:|---:|",
            *(
                f"| {row['name']} | {row['against']} | {row['slow_s']:.3f} | {row['ours_s']:.4f} | {row['ratio']:.1f} |"
                for row in figures["rows"]
            ),
            "",
            f"Medians of turns in one process, processor time of one thread; {figures['device']}, "
            f"torch {figures['versions']['torch']}; `{figures['command']}`.",
            "",
        ]
    )


BENCHMARK = Benchmark("benchmarks.smoke", Flags, measure, markdown)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
