"""The adapter: it starts at the encoder's similarity, learns on clips and on whole videos, and refuses other rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from vtr_core.config.override import ModelInputs, override
from vtr_core.data.batches import ClipBatch, FrameBatch, RowKeys
from vtr_core.data.manifest import Manifest, VocabularyRecord
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.data.records.schema import ClipSchema, FeatureSpec
from vtr_core.encoders.bundled import LITE0
from vtr_core.encoders.encoder import encoder
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.losses.contrastive import build_objective
from vtr_core.run.build import build_model
from vtr_core.run.presets import preset
from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.systems.adapter.implementation import adapter_inputs, encoder_record
from vtr_core.systems.adapter.model import LEAST_DEVIATION, Adapter
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary

TEXTS = ("a puppy plays in the snow", "somebody lifts a barbell", "a steam train", "a bowl of strawberries")
VALUES, COUNTS = 1280, (5, 3, 1, 4)
"""Values of a row; rows of four videos."""


def _config(values: int = 2 * VALUES, frames: str = "pooled", of_encoder: bool = True) -> AdapterConfig:
    record = encoder_record(encoder("bundled"))
    if not of_encoder:
        record = record.model_copy(update={"feature_dim": 0, "classes": 0})
    inputs = ModelInputs(features={"video": values}, num_words=256, max_words=TEXT_BYTES)
    return AdapterConfig(inputs=inputs, encoder=record, frames=frames)


def _built(config: AdapterConfig) -> Adapter:
    torch.manual_seed(0)
    model = build_model(config)
    config.system().implementation().pretrained(model)
    assert isinstance(model, Adapter)
    generator = np.random.default_rng(1)
    values = config.inputs.features["video"]
    mean, std = (generator.uniform(0.1, 1, values).astype(np.float32) for _ in range(2))
    model.load_statistics(FeatureStatistics(mean, std))
    return model


def _rows(count: int, values: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(2).gamma(0.5, 1.0, (count, values)).astype(np.float16))


def _tokens(texts: Sequence[str] = TEXTS) -> torch.Tensor:
    return torch.from_numpy(Vocabulary.utf8().encode_all(texts, TEXT_BYTES).astype(np.int64))


def _clips(rows: torch.Tensor) -> ClipBatch:
    key = torch.arange(len(rows))
    return ClipBatch(
        features={"video": rows},
        present={"video": torch.ones(len(rows), dtype=torch.bool)},
        tokens=_tokens(),
        clip_key=key,
        video_key=key,
        caption_key=key,
    )


def _videos(frames: torch.Tensor, counts: Sequence[int]) -> FrameBatch:
    key = torch.arange(len(frames))
    mask = torch.arange(frames.shape[1]) < torch.tensor(counts)[:, None]
    return FrameBatch(
        frames={"video": frames},
        mask={"video": mask},
        mean={},
        present={"video": mask.any(dim=1)},
        tokens=_tokens(),
        clip_key=key,
        video_key=key,
        caption_key=key,
    )


def _zero_shot(mean_rows: torch.Tensor) -> np.ndarray:
    bundled = encoder("bundled")
    with torch.inference_mode():
        return bundled.encode_text(TEXTS) @ bundled.head()(mean_rows.float()).numpy().T


@pytest.mark.parametrize("values", [VALUES, 2 * VALUES])
def test_it_starts_at_the_encoders_similarity(values: int) -> None:
    model, rows = _built(_config(values)).eval(), _rows(4, values)
    with torch.inference_mode():
        found = model(_clips(rows))
    similarity = found.vectors["text"] @ found.vectors["video"].T
    assert np.abs(similarity.numpy() - _zero_shot(rows[:, :VALUES])).max() < 1e-5


def test_attention_starts_at_the_similarity_of_a_videos_mean_row_and_ignores_padding() -> None:
    model, frames, counts = _built(_config(VALUES, "attention")).eval(), _rows(20, VALUES).reshape(4, 5, -1), COUNTS
    means = torch.stack([frame[:count].float().mean(dim=0) for frame, count in zip(frames, counts, strict=True)])
    with torch.inference_mode():
        found = model(_videos(frames, counts))
        similarity = found.vectors["text"] @ found.vectors["video"].T
        other = frames.clone()
        other[1, 3:], other[2, 1:] = 7.0, float("nan")
        again = model(_videos(other, counts)).vectors["video"]
        blind = model(_videos(frames, (5, 0, 1, 4)))
    assert np.abs(similarity.numpy() - _zero_shot(means)).max() < 1e-5
    assert torch.equal(again, found.vectors["video"])
    assert not blind.vectors["video"][1].any()
    assert blind.present["video"].tolist() == [True, False, True, True]


def test_attention_is_a_softmax_over_rows() -> None:
    """The trained part against a loop over videos and rows."""
    model, frames, counts = _built(_config(VALUES, "attention")).eval(), _rows(20, VALUES).reshape(4, 5, -1), COUNTS
    last = model.video[-1]
    with torch.no_grad():
        for weight in (model.frame_scores.weight, last.weight):
            weight.copy_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(4)) * 0.1)
        found = model(_videos(frames, counts)).vectors["video"]
        for video, count in enumerate(counts):
            rows = frames[video, :count].float()
            scaled = (rows - model.standardization.mean) / model.standardization.std
            weights = torch.stack([(row @ model.frame_scores.weight[0]).exp() for row in scaled])
            pooled = sum(w * row for w, row in zip(weights / weights.sum(), rows, strict=True))
            x = (pooled - model.standardization.mean) / model.standardization.std
            total = model.head(rows.mean(dim=0)[None])[0] + last(x / x.norm())
            torch.testing.assert_close(found[video], total / total.norm(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("frames", ["pooled", "attention"])
def test_all_that_is_trained_learns_and_the_encoder_stays(frames: str) -> None:
    """After 30 steps four clips find their captions; head and statistics are buffers, and the text side has none."""
    config = _config(2 * VALUES if frames == "pooled" else VALUES, frames)
    model, objective = _built(config).train(), build_objective(preset("adapter").loss)
    pooled, whole = _clips(_rows(4, 2 * VALUES)), _videos(_rows(20, VALUES).reshape(4, 5, -1), COUNTS)
    batch = pooled if frames == "pooled" else whole
    keys = RowKeys(clip=batch.clip_key, video=batch.video_key, caption=batch.caption_key)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    before = {name: value.clone() for name, value in model.named_buffers()}
    losses = []
    for step in range(30):
        loss = objective(model(batch), keys, step).total
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.1 * losses[0]
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.named_buffers())
    assert {name.split(".")[0] for name, _ in model.named_parameters()} <= {"words", "video", "frame_scores"}


def test_features_of_no_encoder_are_projected_alone() -> None:
    """No zero-shot part: a clip's vector depends on its rows through trained weights, which begin at random."""
    model = _built(_config(12, of_encoder=False)).eval()
    assert model.head is None
    vectors = model(_clips(_rows(4, 12))).vectors
    torch.testing.assert_close(vectors["video"].norm(dim=1), torch.ones(4))
    with torch.inference_mode():
        expected = encoder("bundled").encode_text(TEXTS)
    assert np.abs(vectors["text"].detach().numpy() - expected).max() < 1e-5


def test_nearly_constant_values_are_not_blown_up() -> None:
    model = _built(_config(12, of_encoder=False))
    std = np.array([1e-6] + [1.0] * 11, np.float32)
    model.load_statistics(FeatureStatistics(np.zeros(12, np.float32), std))
    assert model.standardization.std[0] == pytest.approx(LEAST_DEVIATION * std.mean())
    assert torch.equal(model.standardization.std[1:], torch.ones(11))


def _manifest(**source: Any) -> Manifest:
    schema = ClipSchema((FeatureSpec("video", 2 * VALUES),), 20)
    lite = {"name": "imagenet-lite", "revision": 1, "dim": VALUES, "weights": LITE0.sha256}
    recipe = {**lite, **source.pop("recipe", {})}
    made = {"adapter": "extract", "recipes": [recipe], "pool": "mean_std", "normalise": False, **source}
    return Manifest("memory", schema, VocabularyRecord("v.json", 1, ""), (), made)


def test_data_names_its_encoder() -> None:
    found = adapter_inputs(_manifest(), AdapterConfig())
    config = override(preset("adapter"), found)
    assert config.model.encoder == encoder_record(encoder("bundled"))
    assert config.model.inputs.features == {"video": 2 * VALUES}


def test_features_of_no_encoder_take_the_text_of_the_named_one() -> None:
    other = replace(_manifest(), source={"adapter": "msrvtt"})
    record = adapter_inputs(other, AdapterConfig())["model.encoder"]
    assert (record["name"], record["feature_dim"], record["classes"]) == ("bundled", 0, 0)
    assert record["fingerprint"] == encoder("bundled").fingerprint


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"normalise": True}, "rows of length 1, bundled needs their own scale: extract it again with vtr extract"),
        ({"recipe": {"weights": "0" * 64}}, "rows by weights 00000000 .* bundled makes those of 57934424"),
        ({"recipe": {"revision": 2}}, "revision 2"),
        ({"pool": "max"}, "has the greatest values of rows, bundled needs their mean"),
    ],
)
def test_rows_that_the_encoder_did_not_make_are_refused(source: dict[str, Any], said: str) -> None:
    with pytest.raises(DatasetError, match=said):
        adapter_inputs(_manifest(**source), AdapterConfig())


def test_rows_by_the_encoders_own_recipe_are_its_rows_by_its_fingerprint() -> None:
    """Extraction never scales them, whatever `normalise` says."""
    own = {"name": "bundled", "weights": encoder("bundled").fingerprint}
    assert adapter_inputs(_manifest(recipe=own, normalise=True), AdapterConfig())["model.encoder"]["classes"] == 1000
    with pytest.raises(DatasetError, match="rows by weights 00000000"):
        adapter_inputs(_manifest(recipe={**own, "weights": "0" * 64}), AdapterConfig())


def test_a_missing_feature_and_rows_of_another_size_are_named() -> None:
    with pytest.raises(ConfigError, match="video has 512 values, the encoder bundled makes 1280, or 2560"):
        Adapter(_config(512))
    with pytest.raises(DatasetError, match=r"has no feature audio .it has video.; name one by --model.feature"):
        adapter_inputs(_manifest(), AdapterConfig(feature="audio"))
