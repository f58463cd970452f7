"""A compiled model trains as the plain one does; which runs compile; how often a step waits for the device."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.train.loop.test_learner import LearntScale, batch, config, learner, step
from vtr_core.config.override import override
from vtr_core.run.build import build_model
from vtr_core.run.models import system_of
from vtr_core.run.presets import preset
from vtr_core.train.loop.device_choices import compiles
from vtr_core.train.loop.learner import Learner

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def test_auto_compiles_on_a_gpu_what_is_known_to_compile() -> None:
    capsules = preset("capsule-howto-tiny")
    system = system_of(capsules.model).implementation()
    unknown = replace(system, compiles=False)
    assert compiles(capsules, system, GPU)
    assert not compiles(capsules, system, CPU)
    assert not compiles(capsules, unknown, GPU)
    assert compiles(override(capsules, {"training.compile": "on"}), unknown, CPU)
    assert not compiles(override(capsules, {"training.compile": "off"}), system, GPU)


@pytest.mark.long
@pytest.mark.parametrize("rows", [None, 4])
def test_a_compiled_model_trains_as_the_plain_one(rows: int | None) -> None:
    settings = config(**{"batch.micro_rows": rows, "training.ema_decay": 0.9})
    plain = learner(settings)
    torch.manual_seed(0)
    compiled = Learner(build_model(settings.model), LearntScale(), settings, lambda model: model, compiles=True)
    for _ in range(3):
        torch.testing.assert_close(step(compiled), step(plain), rtol=1e-5, atol=1e-6)
    for name, weight in plain.state()["trained"].items():
        torch.testing.assert_close(compiled.state()["trained"][name], weight, rtol=1e-4, atol=1e-5)


class Reads(TorchDispatchMode):
    """Counts the values that are read from the device: each waits for all that was begun before it."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


def test_an_update_reads_one_value() -> None:
    trained = learner(config())
    embeddings = trained.model(batch(extra=0))
    loss: Tensor = trained.objective(embeddings.vectors["text"], embeddings.vectors["video"])
    with Reads() as reads:
        assert trained.update(loss) is not None
    assert reads.count == 1
