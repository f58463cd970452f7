"""A trained model from a checkpoint, a run folder or the registry; initial weights of a run from another model."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.feature_statistics import feature_statistics
from vtr_core.encoders.encoder import encoder
from vtr_core.encoders.frozen_text import FrozenText
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.extraction.networks import choose
from vtr_core.run.build import build_model, check_model
from vtr_core.storage import Location, locate
from vtr_core.storage.hub import PREFIX, fetch_from_hub
from vtr_core.storage.stated_places import stated_by, stated_place
from vtr_core.systems.registry import Systems
from vtr_core.text.concepts import ConceptNames
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import CheckpointReader, Progress, complete_checkpoints, find_checkpoint

ENCODER = "encoder:"
"""A model's place that is a pretrained encoder, as it is."""


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to embed, with the configuration and vocabulary it was trained with."""

    model: nn.Module
    config: TrainConfig
    vocabulary: Vocabulary
    provenance: dict[str, Any]
    progress: Progress
    uri: str
    systems: Systems
    """Those among which its own was found."""
    concepts: tuple[str, ...] = ()
    """The names of the concepts in the order of the model's scores, where it has a concept space."""


def read_model(uri: str, systems: Systems, device: torch.device | str | None = "cpu", average: int = 1) -> LoadedModel:
    """The model of a checkpoint folder, of a run folder's best checkpoint, or of a registered model, on `device`.

    It is in evaluation mode, and needs that folder alone. `models:/NAME@ALIAS` and `models:/NAME/VERSION` are looked
    up in the MLflow store of MLFLOW_TRACKING_URI, `hub:owner/name` on the Hugging Face hub. `systems` are those among
    which the model's own is looked for. device: None is the first GPU, or the CPU where there is none. With `average`
    k > 1 the weights are the mean of those of the run folder's k newest checkpoints, and everything else is the newest
    one's. Raises CheckpointError where a checkpoint is incomplete, damaged or of another system, or where there are
    fewer than k.
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if uri.startswith(ENCODER):
        return zero_shot_model(uri, systems, device)
    with _readable(uri) as (place, name):
        if average > 1 and name is not None:
            raise CheckpointError(f"{uri} is one checkpoint, {average} are to be averaged; give a run folder")
        loaded = _load(place, systems, device, average)
        return loaded if name is None else replace(loaded, uri=name)


def read_stated_model(
    checkpoint: str | None, stated: str, file: str, systems: Systems, device: torch.device | str | None = "cpu"
) -> LoadedModel:
    """The model that the user gave, else the one that `file`, an index, states, as far as a file may say that.

    StorageError, which asks for --checkpoint, where the stated one would be fetched or lies elsewhere: `stated_place`.
    """
    if checkpoint is not None:
        return read_model(checkpoint, systems, device)
    with stated_by(file):
        return read_model(stated_place(stated, file, "--checkpoint"), systems, device)


def zero_shot_model(uri: str, systems: Systems, device: torch.device | str = "cpu") -> LoadedModel:
    """A pretrained encoder as a model, `encoder:bundled`; ConfigError for one without text or without frames."""
    found = encoder(uri.removeprefix(ENCODER), str(device))
    begins = next(system.zero_shot for system in systems if system.zero_shot is not None)
    config = begins(found)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # what is added is 0, but the weights before it are in the model's fingerprint
        model = build_model(config.model)
    config.model.system().implementation().pretrained(model)
    recipes = [] if found.recipe is None else [choose([found.recipe.name], {})[0].settings()]
    return LoadedModel(
        model=model.to(device).eval(),
        config=config,
        vocabulary=Vocabulary.utf8(),
        provenance={"encoder": found.name, "extraction": {"recipes": recipes, "pool": "mean", "normalise": False}},
        progress=Progress(),
        uri=uri,
        systems=systems,
        concepts=found.concepts,
    )


@contextmanager
def located_model(
    uri: str, systems: Systems, device: torch.device | str = "cpu"
) -> Iterator[tuple[LoadedModel, Location]]:
    """`read_model`, and its checkpoint's folder, which can be read within the context."""
    with _readable(uri) as (place, name):
        loaded = _load(place, systems, device)
        checkpoint = locate(loaded.uri)
        yield (loaded if name is None else replace(loaded, uri=name)), checkpoint


@contextmanager
def _readable(uri: str) -> Iterator[tuple[Location, str | None]]:
    """The location that can be read within the context, and the model's name where it comes from a registry or hub."""
    if uri.startswith("models:"):
        from vtr_core.tracking.models.registry import registered_checkpoint  # MLflow, which takes seconds to import

        with registered_checkpoint(uri) as found:
            yield found.location, found.uri
    elif uri.startswith(PREFIX):
        yield locate(fetch_from_hub(uri)), uri
    else:
        yield locate(uri), None


def _load(place: Location, systems: Systems, device: torch.device | str, average: int = 1) -> LoadedModel:
    storage.check_readable(place)
    locations = [find_checkpoint(place)] if average == 1 else _newest(place, average)
    location = locations[-1]
    reader = CheckpointReader(location)
    config, vocabulary = reader.config(systems), reader.vocabulary()
    if len(vocabulary) != config.model.inputs.num_words:
        what = f"a model of {config.model.inputs.num_words} words, but its vocabulary has {len(vocabulary)}"
        raise CheckpointError(f"{location} has {what}; use another checkpoint of the run")
    concepts = reader.concepts()
    _check_concepts(config, concepts, location)
    weights = config.model.system().implementation().current_names(_mean_weights(locations))
    _check_shapes(config, weights, location)
    model = build_model(config.model)
    load_weights(model, weights, location)
    for module in model.modules():
        if isinstance(module, FrozenText):
            module.stated_by = location.uri
    return LoadedModel(
        model=model.to(device).eval(),
        config=config,
        vocabulary=vocabulary,
        provenance=reader.provenance(),
        progress=reader.progress(),
        uri=location.uri,
        systems=systems,
        concepts=() if concepts is None else concepts.names,
    )


def _check_concepts(config: TrainConfig, found: ConceptNames | None, where: Location) -> None:
    """CheckpointError where the names of the concepts are not those of the model's concept space."""
    wanted = config.model.system().num_concepts(config.model) or 0
    held = 0 if found is None else len(found.names)
    if held != wanted:
        raise CheckpointError(
            f"{where} has a model of {wanted} concepts, but names {held}; use another checkpoint of the run"
        )


def _check_shapes(config: TrainConfig, weights: Mapping[str, Tensor], where: Location) -> None:
    """CheckpointError where the configuration's model has other weights; checked before memory is allocated."""
    try:
        expected = check_model(config.model)
    except ConfigError as error:
        raise CheckpointError(f"{where / 'config.json'}: {error}") from error
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    faults = [
        f"{name} is {found.get(name, 'missing')}, the model's {expected.get(name, 'is not there')}"
        for name in sorted(expected.keys() | found.keys())
        if expected.get(name) != found.get(name)
    ]
    if faults:
        raise CheckpointError(f"{where / 'model.safetensors'}: the weights do not fit the model: {'; '.join(faults)}")


def load_weights(model: nn.Module, weights: dict[str, Tensor], where: Location) -> None:
    """Put `weights` into `model`; CheckpointError where names or shapes do not fit."""
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(f"{where}: the weights do not fit the model: {' '.join(str(error).split())}") from error


def _newest(folder: Location, count: int) -> list[Location]:
    """The `count` newest checkpoints of a run folder, oldest first."""
    complete = complete_checkpoints(folder / "checkpoints")
    if len(complete) < count:
        raise CheckpointError(
            f"{folder} holds {len(complete)} checkpoints of a run, {count} are to be averaged; give a run folder, "
            f"trained with --training.keep_checkpoints {count} or more"
        )
    return complete[-count:]


def _mean_weights(locations: Sequence[Location]) -> dict[str, Tensor]:
    """The checkpoints' mean weights, in float64, one checkpoint in memory at a time; integers are the last's."""
    total = CheckpointReader(locations[0]).weights()
    if len(locations) == 1:
        return total
    total = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in total.items()}
    for location in locations[1:]:
        weights = CheckpointReader(location).weights()
        total = {name: total[name] + t if t.is_floating_point() else t for name, t in weights.items()}
    return {n: (total[n] / len(locations)).to(t.dtype) if t.is_floating_point() else t for n, t in weights.items()}


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
        refused = {**dict.fromkeys(_of_size(config, "model.inputs.num_words", len(words)), reason), **refused}
    names = () if concepts is None else concepts.names
    if names and names != given.concepts:
        sized = _of_size(config, "model.num_concepts", len(names))
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
    wanted, read = standardize and system.standardizes(config.model), system.reads_features(config.model)
    statistics = feature_statistics(data, on_bad_shard=config.on_bad_shard, names=read) if wanted else None
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
    given = read_model(init, systems)
    fits = fitting(config, words, concepts, given)
    start_from(model, given, fits)
    return fits
