"""The trained state of a run: its first weights, and model, loss parameters, moving average, optimiser, precision."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint

from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import CaptionedBatch
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.feature_statistics import feature_statistics
from vtr_core.embedding.collectives import average_gradients, sum_shares, world_size
from vtr_core.errors import CheckpointError
from vtr_core.nn.embeddings import Embeddings, concatenate
from vtr_core.nn.normalization import ChannelBatchNorm, share_statistics
from vtr_core.run.build import build_model, check_model
from vtr_core.systems.system import Systems
from vtr_core.text.concepts import ConceptNames
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint
from vtr_core.train.checkpoint.run_folder import RunFolder
from vtr_core.train.checkpoint.trained_model import LoadedModel, load_weights, read_model
from vtr_core.train.optimizer import build_optimizer, clip_gradients, load_state, set_learning_rate

_SHOWN = 5


@dataclass(frozen=True)
class Fitting:
    """The tensors of a model by name: those that can be taken from another model, and those that cannot."""

    taken: tuple[str, ...]
    refused: Mapping[str, str]
    """Why each of the others keeps its initial values."""

    @property
    def summary(self) -> str:
        """The number of tensors taken, and each of the others with its reason."""
        head = f"{len(self.taken)} of {len(self.taken) + len(self.refused)} tensors taken"
        return "; ".join([head, *(f"{name}: {reason}" for name, reason in self.refused.items())])


def fitting(config: TrainConfig, words: Vocabulary, concepts: ConceptNames | None, source: LoadedModel) -> Fitting:
    """Which tensors of `source` a new model of `config` can start from: those of the same name, shape and meaning.

    words, concepts: the new model's. A tensor with an entry per word is taken only where both models have the same
    words in the same order, and one with an entry per concept only where they have the same concepts. Running
    statistics of normalisation layers are taken, too. Raises CheckpointError where no tensor fits.
    """
    own, shapes = check_model(config.model), {n: tuple(t.shape) for n, t in source.model.state_dict().items()}
    refused = {
        name: f"{shape} here, {shapes.get(name, 'missing')} there"
        for name, shape in own.items()
        if shapes.get(name) != shape
    }
    if words.fingerprint != source.vocabulary.fingerprint:
        reason = "its places are words, and the vocabularies differ (vtr ingest --vocabulary takes the other's)"
        refused = {**dict.fromkeys(_of_size(config, "model.inputs.num_words", len(words)), reason), **refused}
    names = () if concepts is None else concepts.names
    if names and names != source.concepts:
        sized = _of_size(config, "model.num_concepts", len(names))
        refused = {**dict.fromkeys(sized, "its places are concepts, and the concept tables differ"), **refused}
    taken = tuple(name for name in own if name not in refused)
    if not taken:
        raise CheckpointError(
            f"no tensor of {source.uri}, a {source.config.model.kind!r} model, fits the {config.model.kind!r} model to "
            f"train: {'; '.join(f'{name}: {reason}' for name, reason in list(refused.items())[:_SHOWN])} …"
        )
    return Fitting(taken, {name: refused[name] for name in own if name in refused})


def _of_size(config: TrainConfig, setting: str, size: int) -> list[str]:
    """The tensors whose shape depends on a size setting: those whose shape changes with another value of it."""
    before, after = check_model(config.model), check_model(override(config, {setting: size + 1}).model)
    return [name for name in before if after.get(name) != before[name]]


def initial_model(config: TrainConfig, data: Manifest, vectors: np.ndarray | None, standardize: bool) -> nn.Module:
    """A model drawn from the seed of `config`, equal on all workers.

    standardize: whether a model that standardizes features gets the statistics of `data`, for which every worker reads
    the same part; when resuming, the checkpoint has them.
    """
    system = config.model.system()
    standardizes, read = standardize and system.standardizes(config.model), system.reads_features(config.model)
    statistics = feature_statistics(data, on_bad_shard=config.on_bad_shard, names=read) if standardizes else None
    torch.manual_seed(config.seed)
    return build_model(config.model, vectors, statistics)


def given_weights(
    model: nn.Module,
    config: TrainConfig,
    words: Vocabulary,
    concepts: ConceptNames | None,
    init: str | None,
    systems: Systems,
) -> Fitting | None:
    """Load the weights of its backbone into a new model, then those of the model `init`; returns which of these fit."""
    config.model.system().implementation().pretrained(model)
    if init is None:
        return None
    source = read_model(init, systems)
    fits = fitting(config, words, concepts, source)
    own, weights = model.state_dict(), source.model.state_dict()
    with torch.no_grad():
        for name in fits.taken:
            own[name].copy_(weights[name])
    return fits


class MicroBatches(nn.Module):
    """The model, applied to a batch `rows` rows at a time, so that memory for activations is that of `rows` rows.

    The loss needs the embeddings of the whole batch at once, but not the activations behind them: these are dropped in
    the forward pass and recomputed, micro-batch by micro-batch, once the gradient of its embeddings is known, with the
    same random draws (Gao et al. 2021, "Scaling deep contrastive learning batch size under memory limited setup").
    Without dropout embeddings and gradients equal those of one pass over the whole batch.
    """

    def __init__(self, model: nn.Module, rows: int) -> None:
        super().__init__()
        self.model = model
        self.rows = rows

    def forward(self, batch: CaptionedBatch) -> Embeddings:
        """The embeddings of all rows."""
        return concatenate([checkpoint(self.model, part, use_reentrant=False) for part in batch.split(self.rows)])


class Learner:
    """One worker's copy of everything that changes with a training step.

    distribute: wraps the module for data parallel training (DDP) and moves it to the worker's device.
    """

    def __init__(
        self,
        model: nn.Module,
        objective: nn.Module,
        config: TrainConfig,
        distribute: Callable[[nn.Module], nn.Module],
    ) -> None:
        self._config = config
        self.bare = model
        """The model itself, with the weights that are trained."""
        share_statistics(model, sum_shares)
        if world_size() > 1:  # with a single worker torch's own is faster
            share_statistics(model, sum_shares, ChannelBatchNorm)
        rows = config.batch.micro_rows
        # Validation runs the model itself: its batches have other sizes, and each would be compiled anew.
        called = model if config.training.compile == "off" else cast("nn.Module", torch.compile(model))
        self.model = distribute(called if rows is None else MicroBatches(called, rows))
        self.objective = objective.to(next(chain(model.parameters(), model.buffers())).device)
        self._optimizer = build_optimizer(nn.ModuleList([model, self.objective]), config.optimizer)
        decay = config.training.ema_decay
        self._average = None if decay is None else AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))

    @property
    def evaluated(self) -> nn.Module:
        """The model that is validated and saved: the weights' moving average where one is kept.

        Its buffers are those of the trained model, running statistics of batch normalisation too.
        """
        return self.bare if self._average is None else self._average.module

    def judged(self, evaluate: Callable[[nn.Module], dict[str, float]]) -> dict[str, float]:
        """The metrics of `evaluate` for the evaluated model.

        What it stores in buffers, such as a threshold, is stored in the trained model as well: an average takes its
        buffers from there with the next update.
        """
        if self._average is None:
            return evaluate(self.bare)
        before = [buffer.clone() for buffer in self.evaluated.buffers()]
        metrics = evaluate(self.evaluated)
        for trained, buffer, earlier in zip(self.bare.buffers(), self.evaluated.buffers(), before, strict=True):
            if not torch.equal(buffer, earlier):
                trained.copy_(buffer)
        return metrics

    def set_learning_rate(self, rate: float) -> None:
        """Use `rate` from the next update on."""
        set_learning_rate(self._optimizer, rate)

    def update(self, loss: Tensor) -> Tensor | None:
        """One optimiser step down the gradient of `loss`; returns the norm of the whole gradient before clipping.

        None, and nothing changed, where either is not finite; then on all workers, which have the same loss and
        gradient. Both are read at once: this is the only time that a step waits for the device.
        """
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        average_gradients(self.objective)
        parameters = [*self.bare.parameters(), *self.objective.parameters()]
        norm = clip_gradients(parameters, self._config.optimizer)
        if not torch.isfinite(loss.detach() + norm):
            self._optimizer.zero_grad(set_to_none=True)
            return None
        self._optimizer.step()
        if self._average is not None:
            self._average.update_parameters(self.bare)
        return norm

    def restore(self, checkpoint: Checkpoint, folder: RunFolder) -> None:
        """Load the state of a checkpoint of this run."""
        place = folder.checkpoint_at(checkpoint.progress.step)
        load_weights(self.bare, checkpoint.trained or checkpoint.model, place)
        load_weights(self.objective, checkpoint.objective, place / "optimizer.pt")
        try:
            load_state(self._optimizer, checkpoint.optimizer)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"{place / 'optimizer.pt'}: the state does not fit the optimiser ({error})"
            ) from error
        if self._average is not None:
            load_weights(self._average.module, checkpoint.model, place)
            self._average.n_averaged.fill_(checkpoint.progress.step - checkpoint.progress.skipped)

    def state(self) -> dict[str, Any]:
        """The fields of a `Checkpoint` that change with a step: model, trained, objective, optimizer."""
        return {
            "model": _weights(self.evaluated),
            "trained": None if self._average is None else _weights(self.bare),
            "objective": _weights(self.objective),
            "optimizer": self._optimizer.state_dict(),
        }


def _weights(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().contiguous() for name, tensor in module.state_dict().items()}


def uses_bf16(config: TrainConfig, device: torch.device) -> bool:
    """The choice of `training.precision`: `auto` is bf16 where a GPU supports it."""
    precision = config.training.precision
    supported = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return precision == "bf16" or (precision == "auto" and supported)
