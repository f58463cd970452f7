"""Checkpoints as registered models: `models:/NAME@ALIAS` or `models:/NAME/VERSION` can be given instead of a URI."""

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import mlflow.pyfunc
from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

import vtr_core
from vtr_core.config.run import TrainConfig
from vtr_core.errors import CheckpointError, ConfigError, VtrError
from vtr_core.json_text import parse_json
from vtr_core.redaction import redact
from vtr_core.storage import Location, locate
from vtr_core.systems.system import Systems
from vtr_core.tracking.models.model_folder import (
    DATA,
    KeptFiles,
    checked_file,
    code_fingerprint,
    keep_files,
    kept_checkpoint,
    model_page,
    write_model,
)
from vtr_core.tracking.run import TrackedRun, figures_table
from vtr_core.tracking.store import default_tracking_uri, open_client, patient, trouble

T = TypeVar("T")
CHAMPION = "champion"
_EXTERNAL, _VERSIONS = "mlflow.model.isExternal", "mlflow.modelVersions"
"""Tags by which MLflow's pages recognise a logged model without files, and a logged model's registered versions."""
_CODE = "code.fingerprint"
"""The tag of versions that carry code that can be compared; older versions without it are registered anew."""
_URI = re.compile(r"models:/(?P<name>[^/@]+)(?:@(?P<alias>[^/@]+)|/(?P<version>[1-9][0-9]*))")


@dataclass(frozen=True)
class RegisteredCheckpoint:
    """The checkpoint of a version of a registered model."""

    uri: str
    """`models:/NAME/VERSION`, also where an alias was given."""
    location: Location
    """The location where it can be read within the context."""


def model_name(preset: str) -> str:
    """The name under which checkpoints of a preset are registered unless another one is given."""
    return f"vtr-{preset}"


def check_model_name(name: str) -> None:
    """ConfigError where no model can be registered under `name`."""
    if not name.strip() or set(name) & set("/:@'\"`%") or not name.isprintable() or len(name) > 200:
        raise ConfigError(f"a model cannot be called {name!r}; give letters, digits, - and _, such as vtr-mine")


def register_checkpoint(
    tracked: TrackedRun, checkpoint_uri: str, name: str, systems: Systems, alias: str = CHAMPION
) -> str:
    """Register a checkpoint, a folder with checkpoint.json, as a version of the model `name`; returns the version.

    The alias is moved to it. `mlflow.pyfunc.load_model(f"models:/{name}@{alias}")` loads it to embed or describe the
    rows of tables, see vtr_core.train.served_model; the model's signature has the columns. The model belongs to the run
    `tracked`, and keeps a copy of the checkpoint, or its URI where that is on an object store (see models/files.py). A
    checkpoint that is already a version of that model, and carries its code, is not registered again; only the alias is
    moved.

    Raises CheckpointError where the checkpoint is incomplete or damaged, or MLflow refuses or cannot be reached;
    ConfigError where `name` is no valid model name.
    """
    check_model_name(name)
    place = locate(checkpoint_uri)
    config = systems.config(parse_json(checked_file(place, "config.json")), str(place / "config.json"))
    with tempfile.TemporaryDirectory(prefix="vtr-model-") as folder:
        kept = keep_files(place, Path(folder) / DATA)
        made = _Made(tracked, name, place, config, kept, Path(folder))
        return _asked(tracked.tracking_uri, f"{place} as {name}@{alias}", lambda: _register(made, alias))


@contextmanager
def registered_checkpoint(uri: str, tracking_uri: str | None = None) -> Iterator[RegisteredCheckpoint]:
    """The checkpoint that `models:/NAME@ALIAS` or `models:/NAME/VERSION` names, readable inside.

    tracking_uri: the store; by default MLFLOW_TRACKING_URI's. Raises CheckpointError for an unknown model, version or
    alias, a store that cannot be reached, a model of something else, or a checkpoint that is not the registered one.
    """
    store = tracking_uri or default_tracking_uri()
    with tempfile.TemporaryDirectory(prefix="vtr-model-") as folder:
        version, files = _asked(store, uri, lambda: _download(store, uri, f"data/{DATA}", folder))
        checkpoint = kept_checkpoint(locate(files), version.tags["checkpoint.fingerprint"])
        yield RegisteredCheckpoint(f"models:/{version.name}/{version.version}", checkpoint)


def load_pyfunc(uri: str, tracking_uri: str | None = None) -> mlflow.pyfunc.PyFuncModel:
    """What `mlflow.pyfunc.load_model` loads, after its code and checkpoint were compared with what was registered.

    MLflow itself runs whatever code a model's files hold by now, and a loader among them cannot judge itself. Here
    nothing of them runs before they are compared with the version's tags: whoever can write the files alone changes
    nothing unseen, but whoever can write the tags can. Raises CheckpointError as `registered_checkpoint` does.
    """
    store = tracking_uri or default_tracking_uri()
    with tempfile.TemporaryDirectory(prefix="vtr-model-") as folder:
        version, model = _asked(store, uri, lambda: _download(store, uri, "", folder))
        if code_fingerprint(Path(model)) != version.tags.get(_CODE):
            raise CheckpointError(
                f"{uri} has other code than the one that was registered, or none was recorded; register it anew "
                "(vtr train --register), or load its checkpoint alone: vtr_core.load"
            )
        kept_checkpoint(locate(model) / "data" / DATA, version.tags["checkpoint.fingerprint"])
        return mlflow.pyfunc.load_model(model)


@dataclass(frozen=True)
class _Made:
    """A checkpoint to register: its run, name, and the copy or reference that the model keeps in `folder`."""

    tracked: TrackedRun
    name: str
    place: Location
    config: TrainConfig
    kept: KeptFiles
    folder: Path


def _register(made: _Made, alias: str) -> str:
    client = made.tracked.client
    version = _version_of(client, made.name, made.kept.fingerprint) or _new_version(client, made)
    client.set_registered_model_alias(made.name, alias, version)
    return version


def _version_of(client: MlflowClient, name: str, fingerprint: str) -> str | None:
    """The model's version that is this checkpoint, with code to load it, if there is one."""
    versions = client.search_model_versions(f"name = '{name}' and tags.`checkpoint.fingerprint` = '{fingerprint}'")
    return next((str(version.version) for version in versions if _CODE in version.tags), None)


def _new_version(client: MlflowClient, made: _Made) -> str:
    with suppress(MlflowException):  # it exists, or the version below is refused as well
        client.create_registered_model(made.name, description=model_page(made.config.model, made.name, CHAMPION))
    model_id = made.tracked.logged_model(made.config.preset, made.place.uri)
    write_model(made.folder, made.config, made.kept.copied, made.tracked.run_id, model_id)
    with patient():
        client.log_model_artifacts(model_id, str(made.folder / "model"))
    if _EXTERNAL in client.get_logged_model(model_id).tags:  # not registered before, under another name or without code
        client.delete_logged_model_tag(model_id, _EXTERNAL)
    version = client.create_model_version(
        made.name,
        source=client.get_logged_model(model_id).artifact_location,
        run_id=made.tracked.run_id,
        tags={
            "checkpoint": redact(made.place.uri),
            "checkpoint.fingerprint": made.kept.fingerprint,
            "checkpoint.kept": "copy" if made.kept.copied else "reference",
            "preset": made.config.preset,
            "code.version": vtr_core.__version__,
            _CODE: code_fingerprint(made.folder / "model"),
        },
        description=_description(made, _figures(client, model_id)),
        model_id=model_id,
    )
    _link(client, model_id, made.name, int(version.version))
    return str(version.version)


def _figures(client: MlflowClient, model_id: str) -> dict[str, float]:
    """The validation figures of a logged model, the newest of each name."""
    metrics = sorted(client.get_logged_model(model_id).metrics or [], key=lambda metric: metric.step)
    return {metric.key: metric.value for metric in metrics if metric.key.startswith("val/")}


def _description(made: _Made, figures: Mapping[str, float]) -> str:
    size = f"{made.kept.num_bytes / 1e6:.1f} MB"
    held = f"a copy of its files, {size}" if made.kept.copied else "its URI and hash, no copy: keep the checkpoint"
    about = (
        f"{made.config.preset}, checkpoint {redact(made.place.uri)}. This version holds {held}; and the code of vtr "
        f"{vtr_core.__version__}, which loads it where no vtr is installed."
    )
    return f"{about}\n\n{figures_table(figures)}".strip()


def _link(client: MlflowClient, model_id: str, name: str, version: int) -> None:
    """Tag the logged model with the version, as an MLflow server does itself, for MLflow's pages."""
    known = json.loads(client.get_logged_model(model_id).tags.get(_VERSIONS, "[]"))
    if not any((link["name"], int(link["version"])) == (name, version) for link in known):
        client.set_logged_model_tags(model_id, {_VERSIONS: json.dumps([*known, {"name": name, "version": version}])})


def _download(tracking_uri: str, uri: str, part: str, folder: str) -> tuple[ModelVersion, str]:
    """The version that a URI names, and the downloaded folder `part` of its files; "" for all."""
    parts = _URI.fullmatch(uri)
    if parts is None:
        raise CheckpointError(f"{uri} names no registered model; give models:/NAME@ALIAS or models:/NAME/VERSION")
    client, name = open_client(tracking_uri), parts["name"]
    if parts["alias"] is not None:
        version = client.get_model_version_by_alias(name, parts["alias"])
    else:
        version = client.get_model_version(name, parts["version"])
    if "checkpoint.fingerprint" not in version.tags:
        raise CheckpointError(f"{uri} is not a checkpoint of vtr; give a model of vtr train --register")
    source = client.get_model_version_download_uri(name, version.version)
    repository = get_artifact_repository(source, tracking_uri=tracking_uri)
    return version, repository.download_artifacts(part, folder)


def _asked(tracking_uri: str, subject: str, ask: Callable[[], T]) -> T:
    """The answer of MLflow; its failures are raised as CheckpointError."""
    store = redact(tracking_uri)
    try:
        return ask()
    except VtrError:
        raise
    except MlflowException as error:
        raise CheckpointError(
            f"{subject}: MLflow at {store} says: {trouble(error)}; is MLFLOW_TRACKING_URI right?"
        ) from error
    except Exception as error:
        raise CheckpointError(f"{subject}: MLflow at {store} cannot be used ({trouble(error)})") from error
