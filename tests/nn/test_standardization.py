import numpy as np
import torch

from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.nn.normalization import Standardization

STATISTICS = FeatureStatistics(np.array([1.0, -2.0], np.float32), np.array([0.5, 4.0], np.float32))


def test_features_are_shifted_and_scaled():
    module = Standardization(2)
    module.load(STATISTICS)
    assert module(torch.tensor([[2.0, 2.0], [1.0, -2.0]])).tolist() == [[2.0, 1.0], [0.0, 0.0]]


def test_statistics_are_saved_but_not_trained():
    module = Standardization(2)
    assert torch.equal(module(torch.tensor([[3.0, 4.0]])), torch.tensor([[3.0, 4.0]]))
    module.load(STATISTICS)
    assert not list(module.parameters())
    other = Standardization(2)
    other.load_state_dict(module.state_dict())
    assert torch.equal(other.mean, torch.tensor([1.0, -2.0]))
    assert torch.equal(other.std, torch.tensor([0.5, 4.0]))
