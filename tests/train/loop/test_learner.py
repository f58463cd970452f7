"""Micro-batches change nothing but memory; the moving average is what is evaluated, saved and gone on with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import set_checkpoint_early_stop

from vtr_core.config.override import override
from vtr_core.data.batches import ClipBatch
from vtr_core.run.build import build_model, build_task
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.systems.all import SYSTEMS
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress
from vtr_core.train.checkpoint.run_folder import RunFolder
from vtr_core.train.loop.learner import Learner

ROWS = 7


class LearntScale(nn.Module):
    """A loss with a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(()))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return nn.functional.cross_entropy(self.log_scale.exp() * a @ b.T, torch.arange(len(a)))


def config(**changes: object) -> TrainConfig:
    small = {
        "model.inputs": {"features": {"video": 6}, "num_words": 9, "word_dim": 5},
        "model.num_capsules": 4,
        "model.embedding_dim": 8,
        "model.words.hidden_dim": 8,
        "model.standardize": False,
        "model.routing.dropout": 0.0,
    }
    return override(preset("capsule-howto-tiny"), {**small, **changes})


def batch(extra: int = 2) -> ClipBatch:
    generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(1, 10, (ROWS, 4), generator=generator)
    return ClipBatch(
        features={"video": torch.randn(ROWS, 6, generator=generator).half()},
        present={"video": torch.arange(ROWS) != 2},
        tokens=tokens,
        clip_key=torch.arange(ROWS),
        video_key=torch.arange(ROWS),
        caption_key=torch.arange(ROWS),
        candidate_tokens=torch.randint(1, 10, (ROWS, extra, 4), generator=generator) if extra else None,
    )


def learner(settings: TrainConfig) -> Learner:
    torch.manual_seed(0)
    return Learner(build_model(settings.model), LearntScale(), settings, lambda model: model)


def step(trained: Learner) -> Tensor:
    embeddings = trained.model(batch())
    loss = trained.objective(embeddings.vectors["text"], embeddings.vectors["video"])
    if embeddings.candidates is not None:
        loss = loss + embeddings.candidates.square().mean()
    trained.update(loss)
    return loss.detach()


def gradients(trained: Learner) -> list[Tensor]:
    return [p.grad for p in [*trained.model.parameters(), *trained.objective.parameters()] if p.grad is not None]


@pytest.mark.parametrize("rows", [1, 3, 7, 100])
def test_micro_batches_equal_one_pass(rows: int) -> None:
    whole, pieces = learner(config()), learner(config(**{"batch.micro_rows": rows}))
    assert float(step(whole)) == pytest.approx(float(step(pieces)), rel=1e-6)
    for expected, found in zip(gradients(whole), gradients(pieces), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_steps_run_the_compiled_model_and_validation_the_model_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", nn.Sequential)  # the tests' checks of types cannot be traced
    plain, compiled = learner(config()), learner(config(**{"training.compile": "on"}))
    assert isinstance(compiled.model, nn.Sequential)
    assert not isinstance(compiled.evaluated, nn.Sequential)
    assert float(step(plain)) == float(step(compiled))
    for expected, found in zip(gradients(plain), gradients(compiled), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_micro_batches_repeat_their_dropout() -> None:
    trained = learner(config(**{"batch.micro_rows": 2, "model.routing.dropout": 0.5}))
    seen = dict[int, list[Tensor]]()

    def watch(module: nn.Module, inputs: tuple[ClipBatch], output: object) -> None:
        seen.setdefault(int(inputs[0].clip_key[0]), []).append(output.vectors["video"].detach())  # type: ignore[attr-defined]

    trained.evaluated.register_forward_hook(watch)
    torch.manual_seed(5)
    with set_checkpoint_early_stop(False):  # or a piece is computed anew only as far as its last saved tensor
        step(trained)
    for first, again in seen.values():
        assert torch.equal(first, again)


def test_the_average_follows_its_recurrence() -> None:
    trained = learner(config(**{"training.ema_decay": 0.75}))
    expected = dict[str, Tensor]()
    for _ in range(4):
        step(trained)
        for name, weight in trained.model.named_parameters():
            now = weight.detach().clone()
            expected[name] = 0.75 * expected[name] + 0.25 * now if name in expected else now
    for name, weight in trained.evaluated.named_parameters():
        torch.testing.assert_close(weight.detach(), expected[name])


@pytest.mark.parametrize("decay", [None, 0.75])
def test_a_restored_learner_goes_on_bit_for_bit(decay: float | None, tmp_path: Path) -> None:
    settings, folder = config(**{"training.ema_decay": decay}), RunFolder.at(str(tmp_path))
    through = learner(settings)
    for _ in range(2):
        step(through)
    folder.save(Checkpoint(settings, progress=Progress(step=2), vocabulary=words(), **through.state()), keep=1)
    resumed = Learner(build_model(settings.model), LearntScale(), settings, lambda model: model)
    found = folder.latest(SYSTEMS)
    assert found is not None
    resumed.restore(found, folder)
    for _ in range(2):
        assert step(through) == step(resumed)
    for kind in ("model", "objective"):
        for name, tensor in through.state()[kind].items():
            assert torch.equal(resumed.state()[kind][name], tensor)


@pytest.mark.parametrize("decay", [None, 0.75])
def test_a_gradient_that_is_not_finite_changes_nothing(decay: float | None, tmp_path: Path) -> None:
    """Nor does it matter whether the run is resumed behind it, be it the very first step."""
    settings, folder = config(**{"training.ema_decay": decay}), RunFolder.at(str(tmp_path))
    skipping, plain = learner(settings), learner(settings)
    weight = next(skipping.model.parameters())
    assert skipping.update((weight * torch.tensor(torch.inf)).square().sum().clamp(max=1.0) * torch.nan) is None
    assert not gradients(skipping)
    progress = Progress(step=1, skipped=1)
    folder.save(Checkpoint(settings, progress=progress, vocabulary=words(), **skipping.state()), keep=1)
    resumed = Learner(build_model(settings.model), LearntScale(), settings, lambda model: model)
    found = folder.latest(SYSTEMS)
    assert found is not None
    resumed.restore(found, folder)
    for _ in range(2):
        assert step(skipping) == step(plain) == step(resumed)
    for other in (skipping, resumed):
        for kind in ("model", "objective"):
            for name, tensor in plain.state()[kind].items():
                assert torch.equal(other.state()[kind][name], tensor)


def words() -> Vocabulary:
    return Vocabulary(tuple("abcdefghi"))


class Reads(TorchDispatchMode):
    """Counts the operators that wait for the device: a value read, or a result whose size depends on values."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.name()
        if name in ("aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select"):
            self.seen.append(name)
        return func(*args, **(kwargs or {}))


def test_a_step_reads_one_value_from_the_device() -> None:
    """Whether loss and gradient are finite; losses, norms and metrics stay where they are until they are logged."""
    settings = config()
    trained = learner(settings)
    task = build_task(settings, rank=0, world=1)
    rows = batch(extra=0)
    columns = {"video": rows.features["video"].numpy(), "has_video": rows.present["video"].numpy()}
    columns |= {"tokens": rows.tokens.int().numpy()}
    columns |= {name: np.arange(ROWS) for name in ("clip_key", "video_key", "caption_key")}
    for number in range(2):  # the optimiser makes its moments at the first
        with Reads() as reads:
            output = task.step(trained.model, columns, number, torch.device("cpu"))
            assert trained.update(output.loss) is not None
        assert reads.seen == ["aten::_local_scalar_dense"]
