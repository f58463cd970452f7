"""One system more, in the folder `linear`: a package beside vtr offers it, and the ordinary commands take it."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.builders.entry_points import installed
from tests.builders.toy import toy_dataset
from tests.drills.runs import assert_equal_weights, cut_short, losses
from tests.systems.linear.choice import choice_accuracy
from tests.systems.linear.config import LogisticRankingConfig
from tests.systems.linear.loss import LogisticRanking
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.losses.objective import Share
from vtr_core.nn.embeddings import Embeddings
from vtr_core.systems.all import GROUP

ROOT = Path(__file__).parents[2]
RUN = """
import json, sys
from pipelines.cli import run

for words in json.loads(sys.argv[1]):
    run(words[0], words[1:])
"""


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    """Of commands that see the package."""
    site = installed(tmp_path / "site", GROUP, "linear", "tests.systems.linear.system:LINEAR")
    return {**os.environ, "PYTHONPATH": f"{site}:{ROOT}", "RAY_ADDRESS": "local"}


def vtr(env: Mapping[str, str], *commands: list[str]) -> str:
    """What some commands print, one after the other in a process of their own."""
    words = [sys.executable, "-c", RUN, json.dumps(commands)]
    done = subprocess.run(words, env=env, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_folder_is_small() -> None:
    assert sum(len(file.read_text().splitlines()) for file in (ROOT / "tests/systems/linear").glob("*.py")) <= 300


@pytest.mark.long
def test_it_is_trained_evaluated_indexed_and_searched(env: Mapping[str, str], tmp_path: Path) -> None:
    data = toy_dataset(tmp_path / "data", clips_of=[3] * 24)[0].uri
    run, index = str(tmp_path / "r"), str(tmp_path / "i")
    train = ["train", "linear-tiny-wide", "--data", data, "--validation", data, "--out", run]
    said = vtr(
        env,
        [*train, "--scaling.workers", "0", "--training.log_every", "1", "--training.epochs", "4"],
        ["evaluate", run, "--data", data],
        ["evaluate", run, "--task", "choice", "--data", data],
        ["index", run, "--data", data, "--out", index],
        ["search", "number3", "--index", index, "--k", "2"],
    )
    for part in ("text → video", "% of choices, by chance 50", "72 items (audio 128, video 128), compared by cosine"):
        assert part in said
    config = json.loads((tmp_path / "r/config.json").read_text())
    assert (config["model"]["kind"], config["loss"]["kind"]) == ("linear", "logistic_ranking")
    assert sum(losses(tmp_path / "r")[-3:]) < sum(losses(tmp_path / "r")[:3])


@pytest.mark.long
def test_two_workers_train_it_resume_it_and_sweeps_search_it(
    env: Mapping[str, str], world: Path, tmp_path: Path
) -> None:
    settings = {"epochs": 4, "keep_checkpoints": 4, "log_every": 1, "validate_every": 1}
    flags = [word for name, value in settings.items() for word in (f"--training.{name}", str(value))]
    train = ["train", "linear-tiny", "--data", str(world), *flags]
    runs = {workers: tmp_path / f"run-{workers}" for workers in (0, 2)}
    vtr(env, *([*train, "--out", str(out), "--scaling.workers", str(workers)] for workers, out in runs.items()))
    assert losses(runs[2]) == pytest.approx(losses(runs[0]), rel=1e-4)

    checkpoints = sorted(runs[2].glob("checkpoints/step-*"))
    cut = cut_short(runs[2], tmp_path / "cut", kept=1)
    sweep = ["sweep", "linear-tiny", "--data", str(world), "--num-samples", "2", "--search", "random"]
    said = vtr(
        env,
        ["train", "--resume", str(cut)],
        [*sweep, "--out", str(tmp_path / "sweep"), "--training.epochs", "2", "--scaling.workers", "0"],
        ["evaluate", "models:/vtr-linear-tiny@champion", "--data", str(world / "test")],
    )
    step = int(checkpoints[-1].name.removeprefix("step-"))
    assert_equal_weights(runs[2], cut, step)
    assert {row["state"] for row in json.loads((tmp_path / "sweep/trials.json").read_text())} <= {"finished", "stopped"}
    assert "text → video" in said


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_its_loss_is_that_of_a_double_loop_in_shares(world_size: int) -> None:
    torch.manual_seed(0)
    text, video = torch.randn(5, 4), torch.randn(5, 4)
    present = torch.tensor([True, True, False, True, True])
    both = {"text": torch.ones(5, dtype=torch.bool), "video": present}
    loss = LogisticRanking(LogisticRankingConfig(scale=2.0))
    embeddings = Embeddings({"text": text, "video": video}, both)
    found = sum(float(loss(embeddings, Share(rank, world_size))) for rank in range(world_size))
    rows = [i for i in range(5) if present[i]]
    expected = 0.0
    for i in rows:
        for j in rows:
            if i != j:
                right = 2 * float(text[i] @ video[i])
                expected += math.log1p(math.exp(2 * float(text[i] @ video[j]) - right))
                expected += math.log1p(math.exp(2 * float(text[j] @ video[i]) - right))
    assert found == pytest.approx(expected / (len(rows) * (len(rows) - 1)), rel=1e-5)


def test_choices_leave_out_other_captions_of_the_same_clip() -> None:
    vectors = {"text": np.eye(3, dtype=np.float32), "video": np.eye(3, dtype=np.float32)[[0, 1, 1]]}
    present = dict.fromkeys(vectors, np.ones(3, bool))
    keys = np.array([0, 1, 1])
    rows = EmbeddedRows(vectors, present, clip_key=keys, video_key=keys)
    assert choice_accuracy(rows) == pytest.approx(100 * 3.5 / 4)
