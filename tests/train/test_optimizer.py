"""The learning rate is a function of the step and of a group's factor; only matrices of linear maps decay."""

import math
from copy import deepcopy
from typing import Literal

import pytest
import torch
from torch import nn

from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.pretrained import ClipConfig, TransformerSize
from vtr_core.config.run import OptimizerConfig
from vtr_core.config.towers import MambaLearner
from vtr_core.encoders.trainable import TrainableEncoder
from vtr_core.losses.objective import Temperature
from vtr_core.nn.mamba.learners import build_learner
from vtr_core.nn.mamba.pyramid import Pyramid, TemporalScale
from vtr_core.train.optimizer import build_optimizer, learning_rate_at, load_state, set_learning_rate


def test_cosine_with_warm_up() -> None:
    config = OptimizerConfig(learning_rate=2.0, warmup_steps=4)
    rates = [learning_rate_at(config, step, 12) for step in range(13)]
    assert rates[:5] == [0.5, 1.0, 1.5, 2.0, 2.0]
    assert rates[8] == pytest.approx(1.0)
    assert rates[12] == pytest.approx(0.0)
    for step in range(4, 13):
        assert rates[step] == pytest.approx(1.0 + math.cos(math.pi * (step - 4) / 8))


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


class Tokens(nn.Module):
    """Everything of MUSE that learns over given tokens, and a layer beside it."""

    def __init__(self, scan: Literal["none", "v1", "v2"]) -> None:
        super().__init__()
        self.pyramid, self.temporal = Pyramid(8, 2, (1, 2)), TemporalScale(8, 2)
        self.learner = build_learner(8, MambaLearner(layers=2, state=4, scan=scan))
        self.beside = nn.Linear(8, 8)


@pytest.mark.parametrize("scan", ["none", "v1", "v2"])
def test_decays_of_state_space_models_do_not_decay(scan: Literal["none", "v1", "v2"]) -> None:
    model = Tokens(scan)
    groups = build_optimizer(model, OptimizerConfig(weight_decay=0.1)).param_groups
    decays = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
    for name, parameter in model.named_parameters():
        matrix = parameter.ndim >= 2 and not name.endswith(("A_log", "A_b_log"))
        assert decays[id(parameter)] == (0.1 if matrix else 0.0), name


def test_what_learns_over_tokens_has_a_rate_of_its_own() -> None:
    model = Tokens("v2")
    optimizer = build_optimizer(model, OptimizerConfig(weight_decay=0.1, learner_factor=10.0))
    set_learning_rate(optimizer, 0.3)
    rates = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    assert len(rates) == len(list(model.parameters()))
    for name, parameter in model.named_parameters():
        assert rates[id(parameter)] == (0.3 if name.startswith("beside") else 0.3 * 10.0), name


@pytest.mark.parametrize("factor", [1.0, 10.0])
def test_a_temperature_has_a_rate_of_its_own(factor: float) -> None:
    """With factor 1 it stays in the group that it had before there was one, whose state still loads."""
    temperature = Temperature(InfoNceConfig(learnable_temperature=True))
    model = nn.ModuleList([nn.Linear(2, 2), temperature])
    optimizer = build_optimizer(model, OptimizerConfig(temperature_factor=factor))
    set_learning_rate(optimizer, 0.3)
    rates = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    assert [rates[id(p)] for p in model.parameters()] == [0.3, 0.3, pytest.approx(0.3 * factor)]
    assert len(optimizer.param_groups) == (2 if factor == 1 else 3)


def test_a_state_without_factors_is_taken_and_the_configured_ones_stay() -> None:
    """As in checkpoints from before there were factors, and of another trial of a sweep."""
    model = Tokens("v2")
    old = build_optimizer(model, OptimizerConfig(weight_decay=0.2))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    old.step()
    state = old.state_dict()
    for group in state["param_groups"]:
        del group["rate_factor"]
    optimizer = build_optimizer(model, OptimizerConfig(weight_decay=0.1, learner_factor=3.0))
    load_state(optimizer, state)
    assert [(group["weight_decay"], group["rate_factor"]) for group in optimizer.param_groups] == [
        (0.1, 1.0),
        (0.0, 1.0),
        (0.1, 3.0),
        (0.0, 3.0),
    ]
    assert torch.equal(optimizer.state[model.beside.weight]["exp_avg"], old.state[model.beside.weight]["exp_avg"])


def test_wide_matrices_have_a_lower_rate() -> None:
    """A matrix that reads four times the width has a quarter of the rate; biases and kernels have the whole."""
    narrow, wide, kernel = nn.Linear(8, 3), nn.Linear(32, 3), nn.Conv2d(64, 2, 3)
    optimizer = build_optimizer(nn.ModuleList([narrow, wide, kernel]), OptimizerConfig(full_rate_width=8))
    rates = {id(p): group["rate_factor"] for group in optimizer.param_groups for p in group["params"]}
    assert rates == {
        **{id(p): 1.0 for layer in (narrow, kernel) for p in layer.parameters()},
        id(wide.weight): 0.25,
        id(wide.bias): 1.0,
    }


def test_a_state_goes_on_in_another_memory_layout() -> None:
    """The fused step goes over memory: moments that lie otherwise than their weights are other weights' moments."""
    layers = [nn.Conv2d(3, 5, 3, bias=False) for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    layers[1].weight.data = layers[1].weight.data.contiguous(memory_format=torch.channels_last)
    optimizers = [build_optimizer(layer, OptimizerConfig(amsgrad=True)) for layer in layers]
    for step in range(3):
        gradient = torch.rand(5, 3, 3, 3)
        layers[0].weight.grad = gradient.clone()
        optimizers[0].step()
        if step == 0:
            layers[1].load_state_dict(layers[0].state_dict())
            load_state(optimizers[1], deepcopy(optimizers[0].state_dict()))
        else:
            layers[1].weight.grad = gradient.contiguous(memory_format=torch.channels_last)
            optimizers[1].step()
    assert not layers[1].weight.is_contiguous()
    assert torch.allclose(layers[0].weight, layers[1].weight, atol=1e-7)


def test_a_backbone_has_rates_of_its_own_that_fall_from_layer_to_layer() -> None:
    size = TransformerSize(width=8, layers=2, heads=2)
    clip = TrainableEncoder(
        ClipConfig(image_size=8, patch=4, vision=size, text=size, context=5, embedding_dim=8, freeze=0), 3
    )
    model = nn.ModuleDict({"clip": clip, "new": nn.Linear(8, 8)})
    config = OptimizerConfig(backbone_factor=0.1, layer_decay=0.5, beta2=0.98, epsilon=1e-6)
    groups = build_optimizer(model, config).param_groups
    found = {id(one): group["rate_factor"] for group in groups for one in group["params"]}
    expected = {"layers.1.": 0.05, "layers.0.": 0.025, "embeddings": 0.0125, "pre_layrnorm": 0.0125}
    for name, one in clip.named_parameters():
        part = next((part for part in expected if part in name), None)
        assert found[id(one)] == pytest.approx(0.1 if part is None else expected[part]), name
    assert {found[id(one)] for one in model["new"].parameters()} == {1.0}
    assert len(found) == len(list(model.parameters()))
    assert {(group["betas"], group["eps"]) for group in groups} == {((0.9, 0.98), 1e-6)}


@pytest.mark.parametrize("warmup", [0, 3])
def test_inverse_square_root(warmup: int) -> None:
    config = OptimizerConfig(learning_rate=0.5, schedule="inverse_sqrt", warmup_steps=warmup)
    for t in range(1, 20):
        assert learning_rate_at(config, warmup + t - 1, 100) == pytest.approx(0.5 / math.sqrt(t))
