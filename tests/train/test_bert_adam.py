"""BERT's Adam against slow code, and on from a saved state."""

import io

import pytest
import torch
from torch import Tensor, nn

from tests.reference import bert_adam
from vtr_core.config.run import CLIP4CLIP_ADAM, OptimizerConfig
from vtr_core.run.presets import preset
from vtr_core.train.optimizer import (
    BertAdam,
    build_optimizer,
    clip_gradients,
    learning_rate_at,
    load_state,
    set_learning_rate,
)

STEPS = 25
CONFIG = OptimizerConfig(learning_rate=0.1, weight_decay=0.2, **CLIP4CLIP_ADAM)


def layer() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 2).double()


def gradients() -> list[list[Tensor]]:
    """Of the weight and the bias; some are longer than the norm that they are clipped to, some not."""
    draws = torch.Generator().manual_seed(1)
    sizes = [0.1 + 0.3 * step for step in range(STEPS)]
    shapes = ((2, 3), (2,))
    return [[size * torch.randn(shape, generator=draws).double() for shape in shapes] for size in sizes]


def run(model: nn.Linear, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        parameters = list(model.parameters())
        for parameter, gradient in zip(parameters, gradients()[step], strict=True):
            parameter.grad = gradient.clone()
        clip_gradients(parameters, CONFIG)
        set_learning_rate(optimizer, learning_rate_at(CONFIG, step, STEPS))
        optimizer.step()


def test_equals_slow_code() -> None:
    model = layer()
    expected = [
        bert_adam.Parameter(p.detach().flatten().tolist(), decay)
        for p, decay in zip(model.parameters(), (0.2, 0.0), strict=True)
    ]
    optimizer = build_optimizer(model, CONFIG)
    assert isinstance(optimizer, BertAdam)
    run(model, optimizer, range(STEPS))
    given = [[gradient.flatten().tolist() for gradient in step] for step in gradients()]
    bert_adam.train(expected, given, 0.1, share=0.1, most=2.0, epsilon=2e-6)
    for parameter, one in zip(model.parameters(), expected, strict=True):
        assert parameter.detach().flatten().tolist() == pytest.approx(one.values, rel=1e-9)


def test_goes_on_exactly_from_a_saved_state() -> None:
    whole, first = layer(), layer()
    run(whole, build_optimizer(whole, CONFIG), range(STEPS))
    before = build_optimizer(first, CONFIG)
    run(first, before, range(9))
    file = io.BytesIO()
    torch.save([first.state_dict(), before.state_dict()], file)
    file.seek(0)
    weights, state = torch.load(file, weights_only=True)
    then = layer()
    then.load_state_dict(weights)
    after = build_optimizer(then, CONFIG)
    load_state(after, state)
    run(then, after, range(9, STEPS))
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), then.parameters(), strict=True))


def test_the_published_presets_train_with_it() -> None:
    for name in ("clip4clip-msrvtt", "muse-clip-msrvtt", "clip4clip-didemo", "muse-msrvtt-published"):
        found = preset(name).optimizer
        assert {setting: getattr(found, setting) for setting in CLIP4CLIP_ADAM} == dict(CLIP4CLIP_ADAM)
        assert found.warmup(70) == pytest.approx(7)
        assert found.learning_rate * found.temperature_factor == pytest.approx(1e-7)
