"""The learning rate is a function of the step; only matrices decay."""

import math

import pytest
from torch import nn

from vtr_core.config.train import OptimizerConfig
from vtr_core.train.optimizer import build_optimizer, learning_rate_at


def test_cosine_with_warm_up() -> None:
    config = OptimizerConfig(learning_rate=2.0, warmup_steps=4)
    rates = [learning_rate_at(config, step, 12) for step in range(13)]
    assert rates[:5] == [0.5, 1.0, 1.5, 2.0, 2.0]
    assert rates[8] == pytest.approx(1.0)
    assert rates[12] == pytest.approx(0.0)
    for step in range(4, 13):
        assert rates[step] == pytest.approx(1.0 + math.cos(math.pi * (step - 4) / 8))


def test_constant_stays() -> None:
    config = OptimizerConfig(schedule="constant")
    assert {learning_rate_at(config, step, 10) for step in range(10)} == {1e-3}


def test_epochs_and_plateaus_lower_the_rate() -> None:
    config = OptimizerConfig(
        learning_rate=1.0, schedule="constant", epoch_decay=0.9, decay_epochs=2, plateau_decay=0.5, plateau_patience=3
    )
    rates = [learning_rate_at(config, step, 100, steps_per_epoch=3) for step in range(13)]
    assert rates == pytest.approx([1.0] * 6 + [0.9] * 6 + [0.81])
    assert learning_rate_at(config, 7, 100, 3, plateaus=2) == pytest.approx(0.9 / 4)
    cosine = config.model_copy(update={"schedule": "cosine"})
    expected = 0.9 * 0.5 * (1 + math.cos(math.pi * 7 / 100))
    assert learning_rate_at(cosine, 7, 100, 3) == pytest.approx(expected)


def test_biases_norms_and_word_vectors_do_not_decay() -> None:
    model = nn.Sequential(nn.Embedding(3, 4), nn.Linear(4, 2), nn.LayerNorm(2))
    model[1].weight.requires_grad_(True)
    groups = build_optimizer(model, OptimizerConfig(weight_decay=0.1)).param_groups
    assert [(len(group["params"]), group["weight_decay"]) for group in groups] == [(1, 0.1), (4, 0.0)]


def test_frozen_parameters_are_left_out() -> None:
    model = nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    assert sum(len(group["params"]) for group in build_optimizer(model, OptimizerConfig()).param_groups) == 1
