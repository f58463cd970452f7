"""MUSE in the task of contrastive training: its batches, its loss, its validation, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.builders.token_videos import DIM, GRID, text_vectors, token_videos
from tests.builders.toy import toy_dataset
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan, row_groups
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.stream.assemble import assemble
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import evaluate_retrieval
from vtr_core.errors import CheckpointError, ConfigError, DatasetError, SchemaMismatch
from vtr_core.run.build import build_model, build_task
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import usable_data, with_inputs
from vtr_core.run.presets import preset
from vtr_core.systems.joint_space import RetrievalTask
from vtr_core.systems.muse.model import Muse
from vtr_core.systems.spaces import embed_rows
from vtr_core.systems.video_space import embed_words
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.loop.learner import Learner

CPU = torch.device("cpu")
VIDEOS, CAPTIONS = 12, 24
SMALL = {
    "model.grid": GRID,
    "model.scales": (1, 2),
    "model.learner.layers": 1,
    "model.learner.state": 4,
    "batch.videos": 6,
    "batch.clips_per_video": 2,
    "optimizer.warmup_steps": 0,
    "optimizer.learning_rate": 1e-3,
    "evaluation.batch_rows": 5,
}
WORDS = {
    "model.text.kind": "words",
    "model.text.levels": {"hidden_dim": 8, "num_filters": 8, "kernel_sizes": (2,)},
    "model.inputs.word_dim": 6,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """Video 6 has no frames."""
    return token_videos(tmp_path_factory.mktemp("tokens") / "d", VIDEOS, blind=[6])


NO_LEARNER = {"model.learner.kind": "none", "model.scales": (1,)}


def small(**changes: object) -> dict[str, object]:
    """`SMALL` with changes; another learner has not the settings of its learner."""
    kept = {name: v for name, v in SMALL.items() if not (NO_LEARNER.keys() <= changes.keys() and "learner." in name)}
    return {**kept, **changes}


def config(data: Manifest, **changes: object) -> TrainConfig:
    return with_inputs(override(preset("muse-msrvtt"), small(**changes)), data)


def columns(data: Manifest, settings: TrainConfig) -> Columns:
    plan = Plan(data, settings.batch, 0)
    reader = RowGroupReader(data, training_columns(data.schema))
    return next(assemble(reader, plan.row_groups, plan.window(0), max_frames=settings.batch.max_frames))


def model(settings: TrainConfig) -> Muse:
    torch.manual_seed(0)
    found = build_model(settings.model)
    assert isinstance(found, Muse)
    return found


@pytest.mark.parametrize("changes", [{}, WORDS, {"batch.micro_rows": 5}], ids=["vectors", "words", "micro-batches"])
def test_steps_lower_the_loss(changes: dict[str, object], data: Manifest) -> None:
    settings = config(data, **changes)
    task = build_task(settings, 0, 1)
    assert isinstance(task, RetrievalTask)
    learner = Learner(model(settings), task.objective, settings, lambda module: module)
    learner.set_learning_rate(settings.optimizer.learning_rate)
    batch, losses = columns(data, settings), []
    for step in range(20):
        output = task.step(learner.model, batch, step, CPU)
        losses.append(float(output.loss.detach()))
        assert learner.update(output.loss) is not None
    assert set(output.metrics) == {"train/loss_text_video", "train/temperature"}
    assert losses[-1] < 0.8 * losses[0]


def test_the_first_loss_is_that_of_mean_pooling(data: Manifest) -> None:
    """Both cross-entropies of cosine / 0.01, summed, over rows that have frames; a video is no negative of itself."""
    settings = config(data, **{"model.initial_gate": 0.0})
    batch = columns(data, settings)
    cls = torch.from_numpy(batch["video"].astype(np.float64)).unflatten(2, (-1, DIM))[:, :, 0]
    rows = []
    for row, kept in enumerate(batch["video.kept"].tolist()):
        if kept:
            directions = [frame / frame.norm() for frame in cls[row, :kept]]
            mean = torch.stack(directions).mean(dim=0)
            text = torch.from_numpy(batch["text"][row, 0].astype(np.float64))
            rows.append((int(batch["video_key"][row]), text / text.norm(), mean / mean.norm()))
    expected = 0.0
    for direction in (1, -1):
        for i, (key, *own) in enumerate(rows):
            query = own[::direction][0]
            logits = [float(query @ other[1:][::direction][1]) / 0.01 for other in rows]
            compared = [logit for j, logit in enumerate(logits) if j == i or rows[j][0] != key]
            expected += float(torch.logsumexp(torch.tensor(compared), 0)) - logits[i]
    loss = build_task(settings, 0, 1).step(model(settings), batch, 0, CPU).loss
    assert float(loss.detach()) == pytest.approx(expected / len(rows), rel=1e-4)


def embedded(settings: TrainConfig, data: Manifest, words: Vocabulary | None = None) -> EmbeddedRows:
    vocabulary = words or WordTable.load(data).vocabulary
    return embed_rows(model(settings), settings, data, vocabulary, row_groups(data))


def test_every_caption_has_a_row_and_every_video_one_vector(data: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[int]()
    original = Muse.video

    def counted(self: Muse, patches: torch.Tensor, cls: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        seen.append(len(cls))
        return original(self, patches, cls, mask)

    monkeypatch.setattr(Muse, "video", counted)
    rows = embedded(config(data), data)
    assert sum(seen) == VIDEOS
    assert max(seen) <= SMALL["evaluation.batch_rows"]  # type: ignore[operator]
    assert len(rows.video_key) == CAPTIONS
    assert (rows.present["text"].all(), int((~rows.present["video"]).sum())) == (True, 1)  # video 6 has one caption
    expected = np.concatenate([text_vectors(v).astype(np.float32) for v in _order(data)])
    np.testing.assert_allclose(
        rows.vectors["text"], expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-5
    )
    t2v, v2t = evaluate_retrieval(rows, "cosine")
    assert (t2v.metrics.num_queries, t2v.metrics.num_items, t2v.num_unanswerable) == (CAPTIONS, VIDEOS - 1, 1)
    assert (v2t.metrics.num_queries, v2t.metrics.num_items) == (VIDEOS - 1, CAPTIONS)


def _order(data: Manifest) -> list[int]:
    """The videos in file order."""
    reader = RowGroupReader(data, ["video_id"])
    return [int(name[1:]) for place in row_groups(data) for name in reader.read_arrow(place)["video_id"].to_pylist()]


def test_captions_of_another_vocabulary_are_encoded_anew(data: Manifest) -> None:
    settings = config(data, **WORDS)
    other = Vocabulary(tuple(reversed(WordTable.load(data).vocabulary.words)))
    rows = embedded(settings, data, other)
    captions = [f"Caption number{c} of video number{v}" for v in _order(data) for c in range(v % 3 + 1)]
    vectors, known = embed_words(model(settings).eval(), settings, other, captions)
    assert known.all()
    np.testing.assert_allclose(rows.vectors["text"], vectors, atol=1e-6)
    assert not np.allclose(embedded(settings, data).vectors["text"], vectors, atol=1e-3)


def test_given_text_vectors_answer_no_words(data: Manifest) -> None:
    settings = config(data)
    with pytest.raises(CheckpointError, match="has no encoder of words"):
        embed_words(model(settings), settings, WordTable.load(data).vocabulary, ["a dog"])


def test_without_a_learner_the_temperature_alone_is_trained(data: Manifest) -> None:
    settings = config(data, **NO_LEARNER)
    task = build_task(settings, 0, 1)
    learner = Learner(model(settings), task.objective, settings, lambda module: module)
    learner.set_learning_rate(1e-2)
    before = task.objective.temperature.log_scale.item()
    assert learner.update(task.step(learner.model, columns(data, settings), 0, CPU).loss) is not None
    assert task.objective.temperature.log_scale.item() != before
    assert learner.state()["model"] == {}


def test_what_does_not_go_together_is_refused(data: Manifest, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'muse' takes a loss of one joint space"):
        config(data, **{"loss.kind": "dual_triplet"})
    with pytest.raises(ConfigError, match=r"nothing reads scales = \(1, 2\)"):
        config(data, **{**NO_LEARNER, "model.scales": (1, 2)})
    with pytest.raises(SchemaMismatch, match="this model reads videos/1"):
        usable_data(preset("muse-msrvtt").model, toy_dataset(tmp_path / "clips")[0].uri)
    settings = config(data)
    inputs = {**settings.model.inputs.model_dump(), "features": {"video": 5 * DIM, "text": DIM, "audio": 3}}
    other = token_videos(tmp_path / "other", 3)
    assert embedded(override(settings, {"model.inputs": inputs}), other).clip_key.size == 6
    inputs["features"] = {"video": 5 * 16, "text": 16}
    with pytest.raises(DatasetError, match=r"the model was trained on video \(80\)"):
        embedded(override(settings, {"model.inputs": inputs}), data)
