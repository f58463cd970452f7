"""Siamese networks in the common loop: batches from shards, loss, validation, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.builders.made_faces import face, ingested, made_faces, names
from tests.builders.toy import toy_dataset
from vtr_core.config.override import override
from vtr_core.data.batches import ImageBatch, image_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.sources.faces import Faces
from vtr_core.data.stream.assemble import assemble
from vtr_core.errors import ConfigError, DatasetError, SchemaMismatch
from vtr_core.fingerprint import key64
from vtr_core.run.build import build_model, build_task
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import usable_data, with_inputs
from vtr_core.run.presets import preset
from vtr_core.systems.implementation import Task
from vtr_core.systems.siamese.verification import (
    encode_faces,
    mean_loss,
    paper_threshold,
    score_pairs,
    subject_errors,
)
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.loop.learner import Learner

CPU = torch.device("cpu")
SMALL = {
    "model.size": 36,
    "model.tower.channels": 8,
    "model.tower.primary_types": 2,
    "model.tower.num_face_capsules": 4,
    "batch.videos": 4,
    "batch.clips_per_video": 3,
    "evaluation.batch_rows": 5,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Manifest]:
    folder = tmp_path_factory.mktemp("faces")
    root = made_faces(folder / "raw", subjects=9)
    places = ingested(Faces(root=str(root), validation=names(1, 3)), folder / "out")
    return {split: Manifest.load(uri) for split, uri in places.items()}


def config(data: dict[str, Manifest], **changes: object) -> TrainConfig:
    return with_inputs(override(preset("siamese-att-tiny"), {**SMALL, **changes}), data["train"])


def columns(manifest: Manifest, settings: TrainConfig, step: int = 0) -> Columns:
    plan = Plan(manifest, settings.batch, 0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    window = plan.window(plan.window_of(step))
    return next(assemble(reader, plan.row_groups, [batch for batch in window if batch.step == step]))


def test_a_batch_has_the_images_of_its_subjects(data: dict[str, Manifest]):
    found = columns(data["train"], config(data))
    assert found["pixels"].shape == (12, 48 * 40)
    assert found["pixels"].dtype == np.uint8
    assert len(set(found["video_key"].tolist())) == 4
    by_key = {key64(f"s{s}/{i}"): face(s, i) for s in range(4, 10) for i in range(1, 5)}
    for pixels, key in zip(found["pixels"], found["clip_key"].tolist(), strict=True):
        np.testing.assert_array_equal(pixels.reshape(48, 40), by_key[key])


def test_the_shape_comes_from_the_data(data: dict[str, Manifest]):
    image = config(data).model.image
    assert (image.height, image.width, image.channels) == (48, 40, 1)


def test_training_lowers_the_loss_and_validation_finds_a_threshold(data: dict[str, Manifest]):
    settings = config(data, **{"optimizer.warmup_steps": 0, "model.augmentation.mirror": False})
    torch.manual_seed(0)
    model, task = build_model(settings.model), build_task(settings, 0, 1)
    assert isinstance(task, Task)
    learner = Learner(model, task.objective, settings, lambda module: module)
    losses = []
    for step in range(30):
        output = task.step(learner.model, columns(data["train"], settings, step), step, CPU)
        assert learner.update(output.loss) is not None
        losses.append(float(output.loss.detach()))
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])
    values = task.evaluate(learner.evaluated, data["val"], Vocabulary(()))
    assert values["val/threshold"] == pytest.approx(float(model.threshold))
    assert values["val/accuracy"] == values["val/best_accuracy"]
    assert model.training


def test_averaged_weights_keep_their_threshold_until_the_next_validation(data: dict[str, Manifest]):
    settings = config(data, **{"training.ema_decay": 0.9})
    torch.manual_seed(0)
    model, task = build_model(settings.model), build_task(settings, 0, 1)
    learner = Learner(model, task.objective, settings, lambda module: module)

    def step(number: int) -> None:
        learner.update(task.step(learner.model, columns(data["train"], settings, number), number, CPU).loss)

    step(0)
    values = learner.judged(lambda judged: task.evaluate(judged, data["val"], Vocabulary(())))
    saved = [float(learner.state()["model"]["threshold"])]
    step(1)
    saved.append(float(learner.state()["model"]["threshold"]))
    assert saved == [pytest.approx(values["val/threshold"])] * 2


def test_figures_of_pairs_by_hand(data: dict[str, Manifest]):
    settings = config(data)
    torch.manual_seed(0)
    model = build_model(settings.model).eval()
    faces = encode_faces(model, settings, data["val"])
    scored = score_pairs(faces, data["val"], settings)
    at = dict(zip(faces.image_id, faces.vectors, strict=True))
    for pair, distance, subjects in zip(scored.pairs, scored.distance, scored.subjects, strict=True):
        assert distance == pytest.approx(float(((at[pair.first] - at[pair.second]) ** 2).sum()), abs=1e-5)
        assert (subjects[0] != subjects[1]) == pair.different
    margin = paper_threshold(settings)
    expected = np.where(scored.different, np.maximum(0, margin - scored.distance), scored.distance) / 2
    assert mean_loss(scored.distance, scored.different, settings) == pytest.approx(float(expected.mean()), rel=1e-6)


def test_errors_of_subjects_add_up(data: dict[str, Manifest]):
    settings = config(data)
    torch.manual_seed(0)
    scored = score_pairs(encode_faces(build_model(settings.model), settings, data["val"]), data["val"], settings)
    threshold = float(np.median(scored.distance))
    found = subject_errors(scored, threshold)
    wrong = (scored.distance > threshold) != scored.different
    assert sum(one.rejected for one in found) == int((wrong & ~scored.different).sum())
    assert sum(one.accepted for one in found) == 2 * int((wrong & scored.different).sum())
    assert [one.rate for one in found] == sorted((one.rate for one in found), reverse=True)


def _parts(columns: Columns, count: int) -> list[ImageBatch]:
    size = len(columns["video_key"]) // count
    return [
        image_batch({name: values[n * size : (n + 1) * size] for name, values in columns.items()}, (48, 40, 1))
        for n in range(count)
    ]


@pytest.mark.parametrize("mirrored", [False, True], ids=["images", "subjects"])
def test_transforms_do_not_depend_on_the_number_of_workers(data: dict[str, Manifest], mirrored: bool):
    mirror = {"model.augmentation.mirror": not mirrored, "model.augmentation.mirror_subjects": mirrored}
    settings = config(data, **mirror)
    found = columns(data["train"], settings)
    whole, batch = build_task(settings, 0, 1)._transforms(_parts(found, 1)[0], 3)
    parts = [build_task(settings, rank, 3)._transforms(part, 3) for rank, part in enumerate(_parts(found, 3))]
    for name in ("angle", "mirror"):
        torch.testing.assert_close(torch.cat([getattr(part[0], name) for part in parts]), getattr(whole, name))
    assert torch.equal(torch.cat([part[1].subject_key for part in parts]), batch.subject_key)
    assert not torch.equal(whole.angle, build_task(settings, 0, 1)._transforms(_parts(found, 1)[0], 4)[0].angle)


def test_a_made_subject_is_another_in_all_of_its_images(data: dict[str, Manifest]):
    made = {"model.augmentation.mirror_subjects": True, "model.augmentation.stretch_subjects": (0.8, 1.25)}
    task = build_task(config(data, **made), 0, 1)
    before, seen = _parts(columns(data["train"], config(data)), 1)[0], set()
    for step in range(40):
        transforms, batch = task._transforms(before, step)
        assert torch.equal(batch.subject_key != before.subject_key, (transforms.mirror < 0) | (transforms.stretch != 1))
        assert len(batch.subject_key.unique()) == len(before.subject_key.unique())
        seen |= set(batch.subject_key.tolist())
    assert len(seen) > 4 * len(before.subject_key.unique())
    with pytest.raises(ConfigError, match="either of the same subject or of another"):
        config(data, **{"model.augmentation.mirror": True, "model.augmentation.mirror_subjects": True})


def test_images_are_mirrored_beside_stretched_subjects(data: dict[str, Manifest]):
    """A mirrored face stays of its subject, a stretched one is of another."""
    mirror = {"model.augmentation.mirror": True, "model.augmentation.mirror_subjects": False}
    settings = config(data, **{**mirror, "model.augmentation.stretch_subjects": (0.8, 1.25)})
    before = _parts(columns(data["train"], settings), 1)[0]
    alone = build_task(config(data, **mirror), 0, 1)._transforms(before, 3)[0]
    transforms, batch = build_task(settings, 0, 1)._transforms(before, 3)
    assert set(transforms.mirror.tolist()) == {-1.0, 1.0}
    assert torch.equal(transforms.mirror, alone.mirror)
    assert torch.equal(batch.subject_key != before.subject_key, transforms.stretch != 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss.kind": "info_nce"}, "'siamese' and 'pair_contrastive' or 'pair_double_margin' go together"),
        ({"batch.micro_rows": 4}, "its batch normalisation needs all rows at once"),
        ({"batch.clips_per_video": 1}, "make no pairs of both kinds"),
    ],
)
def test_what_does_not_go_together(data: dict[str, Manifest], changes: dict[str, object], message: str):
    with pytest.raises(ConfigError, match=message):
        config(data, **changes)


def test_other_models_and_other_data(data: dict[str, Manifest], tmp_path: Path):
    clips = toy_dataset(tmp_path / "clips")[0]
    with pytest.raises(SchemaMismatch, match=r"reads? images/1"):
        usable_data(preset("siamese-att").model, clips.uri)
    with pytest.raises(SchemaMismatch, match=r"images of subjects; this reads clips/1"):
        usable_data(preset("capsule-howto").model, data["train"].uri)
    with pytest.raises(ConfigError, match="takes a loss of one joint space"):
        with_inputs(override(preset("capsule-howto"), {"loss.kind": "pair_contrastive"}), clips)
    with pytest.raises(DatasetError, match="holds 6 subjects, fewer than a batch needs"):
        Plan(data["train"], override(preset("siamese-att"), {}).batch, 0)
