"""A compiled model trains as the plain one does; which runs compile."""

import multiprocessing
from pathlib import Path

import pytest
import torch

from tests.train.loop.test_learner import LearntScale, config, learner, step
from vtr_core.config.override import override
from vtr_core.run.build import build_model
from vtr_core.run.presets import preset
from vtr_core.train.loop.learner import Learner, compiles

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("name", "asked", "device", "expected"),
    [
        ("capsule-howto", "auto", GPU, True),
        ("capsule-howto", "auto", CPU, False),
        ("capsule-howto-routing-dynamic", "auto", GPU, False),
        ("capsule-howto-fully-connected", "auto", GPU, False),
        ("hybrid-msrvtt", "auto", GPU, False),
        ("hybrid-msrvtt", "on", CPU, True),
        ("capsule-howto", "off", GPU, False),
        ("capsule-howto", None, GPU, False),  # off unless asked for
    ],
)
def test_auto_compiles_on_a_gpu_what_is_compared_below(
    name: str, asked: str | None, device: torch.device, expected: bool
) -> None:
    config = override(preset(name), {} if asked is None else {"training.compile": asked})
    assert compiles(config, config.model.system().implementation(), device) is expected


def _train_both(rows: int | None, file: Path) -> None:
    """Losses of the plain and of the compiled model in three steps."""
    settings = config(**{"batch.micro_rows": rows, "training.ema_decay": 0.9})
    plain = learner(settings)
    torch.manual_seed(0)
    compiled = Learner(build_model(settings.model), LearntScale(), settings, lambda model: model, compiles=True)
    losses = [torch.stack([step(trained) for _ in range(3)]) for trained in (plain, compiled)]
    torch.save(losses, file)


@pytest.mark.long
@pytest.mark.parametrize("rows", [None, 4])
def test_a_compiled_model_trains_as_the_plain_one(rows: int | None, tmp_path: Path) -> None:
    """In a process of its own, without the checks of shapes, which torch.compile does not take.

    Weights are judged by the losses after them: a bias that moves all logits of a softmax alike has no gradient, and
    Adam makes whole steps of its rounding errors.
    """
    file = tmp_path / "both.pt"
    worker = multiprocessing.get_context("forkserver").Process(target=_train_both, args=(rows, file))
    worker.start()
    worker.join()
    plain, compiled = torch.load(file, weights_only=True)
    torch.testing.assert_close(compiled, plain, rtol=1e-5, atol=1e-6)
