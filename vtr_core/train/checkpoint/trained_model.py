"""A trained model from a checkpoint, a run folder or the registry, or a pretrained encoder as one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from vtr_core import storage
from vtr_core.config.run import TrainConfig
from vtr_core.encoders.encoder import encoder
from vtr_core.encoders.frozen_text import FrozenText
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.extraction.features import choose
from vtr_core.run.build import build_model, check_model
from vtr_core.storage import Location, locate
from vtr_core.storage.hub import PREFIX, fetch_from_hub
from vtr_core.storage.stated_places import stated_by, stated_place
from vtr_core.systems.system import Systems
from vtr_core.text.concepts import ConceptNames
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import CheckpointReader, Progress, find_checkpoint

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


def read_model(uri: str, systems: Systems, device: torch.device | str | None = "cpu") -> LoadedModel:
    """The model of a checkpoint folder, of a run folder's best checkpoint, or of a registered model, on `device`.

    It is in evaluation mode, and needs that folder alone. `models:/NAME@ALIAS` and `models:/NAME/VERSION` are looked
    up in the MLflow store of MLFLOW_TRACKING_URI, `hub:owner/name` on the Hugging Face hub. `systems` are those among
    which the model's own is looked for. device: None is the first GPU, or the CPU where there is none. Raises
    CheckpointError where the checkpoint is incomplete, damaged or of another system.
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if uri.startswith(ENCODER):
        return zero_shot_model(uri, systems, device)
    with located_model(uri, systems, device) as (loaded, _):
        return loaded


def read_stated_model(
    checkpoint: str | None,
    stated: str,
    file: str,
    systems: Systems,
    device: torch.device | str | None = "cpu",
    flag: str = "--checkpoint",
) -> LoadedModel:
    """The model that the user gave, else the one that `file`, an index, states, as far as a file may say that.

    StorageError, which asks for `flag`, where the stated one would be fetched or lies elsewhere: `stated_place`.
    """
    if checkpoint is not None:
        return read_model(checkpoint, systems, device)
    with stated_by(file):
        return read_model(stated_place(stated, file, flag), systems, device)


def zero_shot_model(uri: str, systems: Systems, device: torch.device | str = "cpu") -> LoadedModel:
    """A pretrained encoder as a model, `encoder:bundled`; ConfigError for one without text or without frames."""
    pretrained = encoder(uri.removeprefix(ENCODER), str(device))
    begins = next(system.zero_shot for system in systems if system.zero_shot is not None)
    config = begins(pretrained)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # what is added is 0, but the weights before it are in the model's fingerprint
        model = build_model(config.model)
    config.model.system().implementation().pretrained(model)
    recipes = [] if pretrained.recipe is None else [choose([pretrained.recipe.name], {})[0].settings()]
    return LoadedModel(
        model=model.to(device).eval(),
        config=config,
        vocabulary=Vocabulary.utf8(),
        provenance={"encoder": pretrained.name, "extraction": {"recipes": recipes, "pool": "mean", "normalise": False}},
        progress=Progress(),
        uri=uri,
        systems=systems,
        concepts=pretrained.concepts,
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

        with registered_checkpoint(uri) as registered:
            yield registered.location, registered.uri
    elif uri.startswith(PREFIX):
        yield locate(fetch_from_hub(uri)), uri
    else:
        yield locate(uri), None


def _load(place: Location, systems: Systems, device: torch.device | str) -> LoadedModel:
    storage.check_readable(place)
    location = find_checkpoint(place)
    reader = CheckpointReader(location)
    config, vocabulary = reader.config(systems), reader.vocabulary()
    if len(vocabulary) != config.model.inputs.num_words:
        mismatch = f"a model of {config.model.inputs.num_words} words, but its vocabulary has {len(vocabulary)}"
        raise CheckpointError(f"{location} has {mismatch}; use another checkpoint of the run")
    concepts = reader.concepts()
    _check_concepts(config, concepts, location)
    weights = reader.weights()
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


def _check_concepts(config: TrainConfig, names: ConceptNames | None, where: Location) -> None:
    """CheckpointError where the names of the concepts are not those of the model's concept space."""
    detected = config.model.system().num_concepts(config.model) or 0
    count = 0 if names is None else len(names.names)
    if count != detected:
        raise CheckpointError(
            f"{where} has a model of {detected} concepts, but names {count}; use another checkpoint of the run"
        )


def _check_shapes(config: TrainConfig, weights: Mapping[str, Tensor], where: Location) -> None:
    """CheckpointError where the configuration's model has other weights; checked before memory is allocated."""
    try:
        expected = check_model(config.model)
    except ConfigError as error:
        raise CheckpointError(f"{where / 'config.json'}: {error}") from error
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    faults = [
        f"{name} is {shapes.get(name, 'missing')}, the model's {expected.get(name, 'is not there')}"
        for name in sorted(expected.keys() | shapes.keys())
        if expected.get(name) != shapes.get(name)
    ]
    if faults:
        raise CheckpointError(f"{where / 'model.safetensors'}: the weights do not fit the model: {'; '.join(faults)}")


def load_weights(model: nn.Module, weights: dict[str, Tensor], where: Location) -> None:
    """Put `weights` into `model`; CheckpointError where names or shapes do not fit."""
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(f"{where}: the weights do not fit the model: {' '.join(str(error).split())}") from error
