"""The captioner in its task: loss and schedule, workers, validation, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.builders.captioned import captioned_videos
from tests.builders.captioning import DIM, MAX_WORDS, WORDS, columns
from tests.train.workers import assert_together_equal_one, averaged_gradients
from vtr_core.config.override import override
from vtr_core.data.captions import InformationTable
from vtr_core.data.reading.row_groups import Columns
from vtr_core.data.shards.word_table import WordTable
from vtr_core.embedding.collectives import average_gradients
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.run.build import build_model, build_task
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.systems.implementation import LossTables

CPU, ROWS = torch.device("cpu"), 8
SMALL = {
    "model.inputs": {"features": {"video": DIM}, "num_words": WORDS, "max_words": MAX_WORDS},
    "model.hidden_dim": 8,
    "model.heads": 2,
    "model.mlp_dim": 16,
    "model.max_tokens": 6,
    "model.dropout": 0.0,
    "model.video_tokens": None,
    "loss.score.heads": 2,
    "batch.videos": ROWS,
}


def config(variant: str = "", **changes: object) -> TrainConfig:
    margin = {} if variant in ("-baseline", "-fusion") else {"loss.granularity_margin.warmup_steps": 2}
    return override(preset(f"caption-msrvtt-tiny{variant}"), {**SMALL, **margin, **changes})


def tables(settings: TrainConfig) -> LossTables:
    if settings.loss.granularity_margin is None:
        return LossTables()
    keys = np.arange(ROWS) + 1
    return LossTables(information=InformationTable("leave_one_out", keys, keys + 100, np.linspace(0.1, 0.9, ROWS)))


def part(rank: int, world: int) -> Columns:
    """Of eight rows, of which one has no caption and one no frames."""
    whole = columns(ROWS)
    whole["tokens"][3], whole["caption_key"][3] = 0, 0
    whole["video.kept"][6], whole["video"][6] = 0, 0
    first, last = rank * ROWS // world, (rank + 1) * ROWS // world
    found = {name: values[first:last] for name, values in whole.items()}
    # Each worker's sequences are as long as its own longest.
    frames = max(1, int(found["video.kept"].max()))
    return {**found, "video": found["video"][:, :frames]}


def one_step(settings: TrainConfig, step: int, rank: int = 0, world: int = 1) -> list[Tensor]:
    """The loss, its terms, and the gradients averaged as DDP does."""
    torch.manual_seed(0)
    model = build_model(settings.model).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    task = build_task(settings, rank, world, tables(settings))
    objective = task.objective.double()
    output = task.step(model, part(rank, world), step, CPU)
    output.loss.backward()
    average_gradients(objective)
    gradients = averaged_gradients(model, world)
    gradients += [parameter.grad for parameter in objective.parameters() if parameter.grad is not None]
    return [output.loss.detach(), *(torch.as_tensor(value) for value in output.metrics.values()), *gradients]


CASES = [
    (config(), 0),
    (config(), 2),
    (config(**{"loss.score.score": "fusion", "loss.score.block_pairs": 5}), 2),
    (config("-baseline"), 0),
    (config("-margin"), 2),
]


def steps(rank: int, world: int) -> list[list[Tensor]]:
    return [one_step(*case, rank, world) for case in CASES]


@pytest.mark.parametrize("world", [2, pytest.param(4, marks=pytest.mark.long)])
def test_workers_together_equal_one(world: int, tmp_path: Path) -> None:
    assert_together_equal_one(steps, world, tmp_path)


def terms(settings: TrainConfig, step: int) -> set[str]:
    torch.manual_seed(0)
    task = build_task(settings, 0, 1, tables(settings))
    output = task.step(build_model(settings.model), part(0, 1), step, CPU)
    found = {name: float(value) for name, value in output.metrics.items() if "loss_" in name}
    assert output.loss.item() == pytest.approx(sum(found.values()), rel=1e-5)
    return {name.removeprefix("train/loss_") for name in found}


def test_each_row_of_the_table_has_its_terms() -> None:
    assert terms(config("-baseline"), 5) == {"gen"}
    assert terms(config("-fusion"), 5) == {"gen", "fusion"}
    assert (terms(config("-margin"), 0), terms(config("-margin"), 2)) == ({"gen", "bias"}, {"gen", "margin"})
    assert (terms(config(), 1), terms(config(), 2)) == ({"gen", "fusion", "bias"}, {"gen", "fusion", "margin"})


def test_masks_are_those_of_seed_and_step() -> None:
    torch.manual_seed(0)
    settings = config("-baseline")
    model = build_model(settings.model)
    found = [
        build_task(override(settings, {"seed": seed}), 0, 1).step(model, part(0, 1), step, CPU).loss.item()
        for seed, step in ((0, 0), (0, 0), (0, 1), (1, 0))
    ]
    assert found[0] == found[1]
    assert len(set(found)) == 3


def test_validation_measures_generated_captions(tmp_path: Path) -> None:
    data = captioned_videos(tmp_path / "d", {"a": ["a man runs", "a man is running"], "b": ["a dog sleeps"], "c": []})
    known = captioned_videos(tmp_path / "known", {"a": ["a man runs"]})
    settings = with_inputs(config("-baseline", **{"model.inputs": {}}), known)
    words = WordTable.load(known).vocabulary
    torch.manual_seed(0)
    model = build_model(settings.model)
    model.train()
    values = build_task(settings, 0, 1).evaluate(model, data, words)
    assert model.training
    assert {"val/cider", "val/bleu1", "val/bleu4", "val/rouge_l"} <= values.keys()
    assert "val/meteor" not in values
    assert 0 <= values["val/cider"] <= 1000


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    data = captioned_videos(tmp_path / "d", {"a": ["a man runs"], "b": ["a dog sleeps"]})
    with pytest.raises(ConfigError, match="'captioner' and 'captioning' go together"):
        with_inputs(override(preset("caption-msrvtt-tiny"), {"loss.kind": "info_nce"}), data)
    with pytest.raises(ConfigError, match=r"batch\.micro_rows with model\.kind = 'captioner'"):
        with_inputs(override(preset("caption-msrvtt-tiny"), {"batch.micro_rows": 4}), data)
    silent = captioned_videos(tmp_path / "s", {"a": ["a man runs"], "b": []})
    with pytest.raises(DatasetError, match="video b has no captions, and training needs some of every video"):
        with_inputs(preset("caption-msrvtt-tiny"), silent)
