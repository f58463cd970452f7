"""The granularity margin as a plug-in of retrieval: the capsule network, MUSE and the dual encoder."""

from pathlib import Path

import pytest
import torch

from tests.builders.captioned import captioned_clips, captioned_videos
from vtr_core.config.override import override
from vtr_core.data.captions import training_information
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.stream.assemble import assemble
from vtr_core.run.build import build_model, build_task
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.systems.implementation import LossTables, StepOutput, Task
from vtr_core.train.optimizer import build_optimizer

CAPTIONS = {
    name: [f"a {name} is {verb}", f"the {name} is {verb} outside", "somebody"]
    for name, verb in (("man", "running"), ("dog", "sleeping"), ("woman", "singing"), ("bird", "flying"))
}
MARGIN = {"loss.granularity_margin": {"warmup_steps": 1}, "batch.videos": 4, "batch.clips_per_video": 1}
SYSTEMS = {
    "capsule-howto-tiny": {},
    "muse-msrvtt-tiny": {},
    "hybrid-msrvtt-tiny": {"model.latent_dim": 8, "model.num_concepts": None},
}


def data(name: str, folder: Path) -> Manifest:
    return (captioned_clips if name.startswith("capsule") else captioned_videos)(folder, CAPTIONS)


@pytest.mark.parametrize("name", SYSTEMS)
def test_it_joins_the_loss_of_every_system(name: str, tmp_path: Path) -> None:
    manifest = data(name, tmp_path / "d")
    settings = with_inputs(override(preset(name), {**SYSTEMS[name], **MARGIN, "scaling.workers": 1}), manifest)
    plan = Plan(manifest, settings.batch, 0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    columns = next(assemble(reader, plan.row_groups, plan.window(0), max_frames=8))
    table = training_information(manifest, "leave_one_out")
    plain = override(settings, {"loss.granularity_margin": None})

    def step(task: Task, number: int) -> StepOutput:
        torch.manual_seed(0)
        model = build_model(settings.model)
        model.eval()
        output = task.step(model, columns, number, torch.device("cpu"))
        output.loss.backward()
        return output

    without = step(build_task(plain, 0, 1), 0)
    assert not any("margin" in metric or "bias" in metric for metric in without.metrics)
    task = build_task(settings, 0, 1, LossTables(information=table))
    extractor = [p for p in task.objective.parameters() if p.ndim == 2]
    first = step(task, 0)
    assert first.loss.item() == pytest.approx((without.loss + first.metrics["train/loss_bias"]).item(), rel=1e-5)
    assert all(p.grad is not None for p in extractor)
    task.objective.zero_grad(set_to_none=True)
    second = step(task, 1)
    assert second.loss.item() == pytest.approx((without.loss + second.metrics["train/loss_margin"]).item(), rel=1e-5)
    assert all(p.grad is None for p in extractor)
    assert {"train/margin", "train/margin_bin_correlation"} <= second.metrics.keys()


def test_a_frozen_extractor_stays_as_it_is_under_the_optimiser(tmp_path: Path) -> None:
    manifest = data("muse-msrvtt-tiny", tmp_path / "d")
    changes = {**MARGIN, "scaling.workers": 1, "optimizer.weight_decay": 0.5}
    settings = with_inputs(override(preset("muse-msrvtt-tiny"), changes), manifest)
    plan = Plan(manifest, settings.batch, 0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    columns = next(assemble(reader, plan.row_groups, plan.window(0), max_frames=8))
    task = build_task(settings, 0, 1, LossTables(information=training_information(manifest, "idf")))
    model = build_model(settings.model)
    optimizer = build_optimizer(torch.nn.ModuleList([model, task.objective]), settings.optimizer)
    kept = []
    for number in range(3):
        optimizer.zero_grad(set_to_none=True)
        task.step(model, columns, number, torch.device("cpu")).loss.backward()
        optimizer.step()
        kept.append([p.detach().clone() for p in task.objective.parameters() if p.ndim == 2])
    assert all(torch.equal(a, b) for a, b in zip(kept[0], kept[2], strict=True))
