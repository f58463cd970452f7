"""Tokens of a network without captions: standardised with the statistics of [CLS] or of all patches, and mapped."""

import numpy as np
import torch

from vtr_core.config.override import ModelInputs
from vtr_core.config.towers import MambaLearner
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.systems.muse.config import MuseConfig, TextWords
from vtr_core.systems.muse.model import Muse, TokenProjection
from vtr_core.systems.muse.task import IMPLEMENTATION

GIVEN, GRID, DIM = 5, 2, 3
CONFIG = MuseConfig(
    inputs=ModelInputs(features={"video": (1 + GRID**2) * GIVEN}, num_words=9, word_dim=4, max_words=5),
    grid=GRID,
    token_dim=DIM,
    scales=(1, 2),
    learner=MambaLearner(layers=1, state=4),
    text=TextWords(),
)


def _frames(count: int) -> np.ndarray:
    drawn = np.random.default_rng(0).normal(3, 2, (count, 1 + GRID**2, GIVEN))
    drawn[:, 0] = 0.1 * drawn[:, 0] - 4
    return drawn


def _statistics(frames: np.ndarray) -> FeatureStatistics:
    columns = frames.reshape(len(frames), -1)
    return FeatureStatistics(columns.mean(axis=0).astype(np.float32), columns.std(axis=0).astype(np.float32))


def test_cls_and_patches_have_statistics_of_their_own() -> None:
    frames = _frames(200)
    projection = TokenProjection(GIVEN, GRID, DIM)
    projection.load(_statistics(frames))
    weight, bias = (values.detach().double().numpy() for values in (projection.linear.weight, projection.linear.bias))
    cls, patches = frames[:, 0], frames[:, 1:].reshape(-1, GIVEN)
    for place in range(1 + GRID**2):
        known = patches if place else cls
        expected = (frames[:4, place] - known.mean(axis=0)) / known.std(axis=0) @ weight.T + bias
        mapped = projection(torch.from_numpy(frames[None, :4]).float())[0, :, place].detach().numpy()
        np.testing.assert_allclose(mapped, expected, atol=1e-4)


def test_frames_of_one_vector_have_those_of_the_column() -> None:
    frames = _frames(50)[:, :1]
    projection = TokenProjection(GIVEN, None, DIM)
    projection.load(_statistics(frames))
    torch.testing.assert_close(projection.standardization.mean.double(), torch.from_numpy(frames[:, 0].mean(axis=0)))


def test_a_model_takes_the_statistics_of_its_training_data() -> None:
    frames = _frames(200)
    model = IMPLEMENTATION.build(CONFIG, None, {"video": _statistics(frames)})
    assert isinstance(model, Muse)
    assert model.dim == DIM
    patches, cls = model.split(torch.from_numpy(frames.reshape(1, 200, -1)).half())
    assert patches is not None
    assert patches.shape == (1, 200, GRID**2, DIM)
    assert cls.shape == (1, 200, DIM)
    assert cls.mean(dim=1).abs().max() < 0.05


def test_one_scale_maps_the_frames_mean_alone() -> None:
    model = IMPLEMENTATION.build(CONFIG.model_copy(update={"scales": (1,)}), None, None)
    assert isinstance(model, Muse)
    given = torch.from_numpy(_frames(4).reshape(1, 4, -1)).float()
    patches, cls = model.split(given)
    assert patches is None
    assert model.tokens is not None
    expected = model.tokens(given.unflatten(2, (-1, GIVEN)))[:, :, 0]
    torch.testing.assert_close(cls, expected)
