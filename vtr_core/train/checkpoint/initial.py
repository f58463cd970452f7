"""Initial weights from another run's model: which of its tensors fit, and which do not."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn

from vtr_core.config.override import override
from vtr_core.errors import CheckpointError
from vtr_core.run.build import check_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.models import ModelConfig
from vtr_core.text.concepts.names import ConceptNames
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.load import LoadedModel

_SHOWN = 5
Shapes = Mapping[str, tuple[int, ...]]


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


def fitting(config: TrainConfig, words: Vocabulary, concepts: ConceptNames | None, given: LoadedModel) -> Fitting:
    """Which tensors of `given` a new model of `config` can start from: those of the same name, shape and meaning.

    words, concepts: the new model's. A tensor with an entry per word is taken only where both models have the same
    words in the same order, and one with an entry per concept only where they have the same concepts. Running
    statistics of normalisation layers are taken, too. Raises CheckpointError where no tensor fits.
    """
    own, found = check_model(config.model), {n: tuple(t.shape) for n, t in given.model.state_dict().items()}
    refused = _other_shapes(own, found)
    if words.fingerprint != given.vocabulary.fingerprint:
        reason = "its places are words, and the vocabularies differ (vtr ingest --vocabulary takes the other's)"
        refused = {**dict.fromkeys(_of_size(config.model, "model.inputs.num_words", len(words)), reason), **refused}
    names = () if concepts is None else concepts.names
    if names and names != given.concepts:
        sized = _of_size(config.model, "model.num_concepts", len(names))
        refused = {**dict.fromkeys(sized, "its places are concepts, and the concept tables differ"), **refused}
    taken = tuple(name for name in own if name not in refused)
    if not taken:
        raise CheckpointError(
            f"no tensor of {given.uri}, a {given.config.model.kind!r} model, fits the {config.model.kind!r} model to "
            f"train: {'; '.join(f'{name}: {reason}' for name, reason in list(refused.items())[:_SHOWN])} …"
        )
    return Fitting(taken, {name: refused[name] for name in own if name in refused})


def start_from(model: nn.Module, given: LoadedModel, found: Fitting) -> None:
    """Copy the tensors that fit into `model`, on whatever device it is."""
    own, others = model.state_dict(), given.model.state_dict()
    with torch.no_grad():
        for name in found.taken:
            own[name].copy_(others[name])


def _other_shapes(own: Shapes, found: Shapes) -> dict[str, str]:
    """The tensors that the other model lacks, or has in another shape, with both shapes."""
    return {
        name: f"{shape} here, {found.get(name, 'missing')} there"
        for name, shape in own.items()
        if found.get(name) != shape
    }


def _of_size(model: ModelConfig, setting: str, size: int) -> list[str]:
    """The tensors whose shape depends on a size setting: those whose shape changes with another value of it."""
    changed = override(TrainConfig(model=model), {setting: size + 1}).model
    before, after = check_model(model), check_model(changed)
    return [name for name in before if after.get(name) != before[name]]
