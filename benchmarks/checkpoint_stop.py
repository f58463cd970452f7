"""How long training stops for a checkpoint: written before it goes on, as it was, and beside it from a snapshot.

    python -m benchmarks.checkpoint_stop [--preset capsule-howto] [--rows 64] [--rounds 3]

The preset's model at full size with Adam's moments, steps of random clips, a folder on this machine's disk. In every
round one checkpoint is written while training waits; then one is written by `Recorder.save` while steps go on until it
is there. `stop`: seconds between the step before and the step after. `slower`: what the steps beside the writing took
more than as many steps alone, in seconds. `of a minute`: stop and slower together, over 60 s.
"""

import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch

from benchmarks.report.pages import RESULTS, Benchmark
from benchmarks.training_step import INPUTS, objective_of, random_clips
from vtr_core.config.override import override
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress
from vtr_core.train.checkpoint.run_folder import RunFolder
from vtr_core.train.fleet.lease import Lease
from vtr_core.train.job import Report, StopRequest
from vtr_core.train.loop.learner import Learner
from vtr_core.train.loop.recorder import Recorder


@dataclass(frozen=True)
class Flags:
    """What to measure."""

    preset: str = "capsule-howto"
    """The configuration whose model is saved."""
    rows: int = 64
    """Clips of a step."""
    rounds: int = 3
    """Rounds; the page has medians."""
    out: str = str(RESULTS)
    """Folder for checkpoint_stop.json and checkpoint_stop.md."""


class _Silent:
    """A driver that hears nothing and stops nothing."""

    def report(self, report: Report) -> None:
        assert report.get("event") != "checkpoint_failed", report

    def watch(self) -> StopRequest:
        raise AssertionError("nothing is watched")


class _Training:
    """A learner of the preset, its steps, and its checkpoints."""

    def __init__(self, config: TrainConfig, rows: int) -> None:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.config, self._batch, self._done = config, random_clips(rows, device), 0
        self._objective = objective_of(config)
        model = build_model(config.model, torch.randn(INPUTS.num_words, INPUTS.word_dim).numpy())
        self._learner = Learner(model, self._objective, config, lambda module: module.to(device))

    def step(self) -> float:
        """One step; its seconds."""
        begin = perf_counter()
        self._learner.update(self._objective(self._learner.model(self._batch), self._batch.keys, 0).total)
        self._done += 1
        return perf_counter() - begin

    def checkpoint(self) -> Checkpoint:
        """Of the present step."""
        progress, vocabulary = Progress(step=self._done), Vocabulary(tuple(map(str, range(INPUTS.num_words))))
        return Checkpoint(self.config, progress=progress, vocabulary=vocabulary, **self._learner.state())


def measure(flags: Flags) -> dict[str, Any]:
    """The rounds, and the bytes of a checkpoint."""
    changes = {"model.inputs": INPUTS.model_dump(), "training.keep_checkpoints": 1}
    training = _Training(override(preset(flags.preset), changes), flags.rows)
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder.at(place)
        with Lease.take(folder.location) as lease:
            recorder = Recorder(folder, lease.number, None, _Silent(), 0)
            _round(training, recorder)  # the first one makes room in memory and does not count
            rounds = [_round(training, recorder) for _ in range(flags.rounds)]
            recorder.close()
        size = sum(file.stat().st_size for file in Path(place).rglob("*") if file.is_file())
    device = {"device": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}
    return {"rounds": rounds, "checkpoint_bytes": size, "rows": flags.rows, "preset": flags.preset, **device}


@dataclass(frozen=True)
class _Round:
    step: float
    """Seconds of a step alone."""
    before: float
    """Stop of a checkpoint that is written before training goes on."""
    stop: float
    """Stop of one that is written beside it."""
    beside: int
    """Steps until it was there."""
    slower: float
    """Seconds that these took more than as many alone."""


def _round(training: _Training, recorder: Recorder) -> dict[str, Any]:
    alone = median(training.step() for _ in range(5))
    begin = perf_counter()
    recorder.save(training.checkpoint())
    assert recorder.finish_writing() == ""
    before = perf_counter() - begin
    training.step()
    begin = perf_counter()
    recorder.save(training.checkpoint())
    stop, steps = perf_counter() - begin, list[float]()
    while recorder.is_writing():
        steps.append(training.step())
    recorder.finish_writing()
    return asdict(_Round(alone, before, stop, len(steps), sum(steps) - len(steps) * alone))


def markdown(figures: dict[str, Any]) -> str:
    """The page."""
    rounds = figures["rounds"]
    middle = {name: median(turn[name] for turn in rounds) for name in rounds[0]}
    share = (middle["stop"] + middle["slower"]) / 60
    scatter = ", ".join(f"{turn['before']:.1f} and {turn['stop']:.2f}" for turn in rounds)
    return "\n".join(
        [
            f"# How long training stops for a checkpoint: {figures['preset']}",
            "",
            f"A checkpoint of {figures['checkpoint_bytes'] / 1e6:,.0f} MB on the machine's disk; steps of "
            f"{figures['rows']} clips, {middle['step']:.2f} s each.",
            "",
            "| | stop, s | steps beside the writing | slower, s | of a minute |",
            "|---|---:|---:|---:|---:|",
            f"| written before training goes on | {middle['before']:.2f} | 0 | 0.0 | {middle['before'] / 60:.1%} |",
            f"| written beside it, from a snapshot | {middle['stop']:.2f} | {middle['beside']:.0f} "
            f"| {middle['slower']:.1f} | {share:.1%} |",
            "",
            f"Medians of {len(rounds)} rounds, in turns in one process; stops of the rounds: {scatter}.",
            f"{figures['device']}, torch {figures['versions']['torch']}; `{figures['command']}`.",
            "",
        ]
    )


BENCHMARK = Benchmark("benchmarks.checkpoint_stop", Flags, measure, markdown)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
