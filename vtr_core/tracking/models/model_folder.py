"""A trained model as an MLflow model: its folder and the files that are kept."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import mlflow.pyfunc
import pandas as pd
from mlflow.models import Model, ModelSignature
from mlflow.types import DataType, Schema
from mlflow.types.schema import Array, ColSpec
from packaging.version import Version

import vtr_core
from vtr_core import storage
from vtr_core.config.run import ModelConfig, TrainConfig
from vtr_core.errors import CheckpointError, command_line
from vtr_core.json_text import parse_json
from vtr_core.storage import Location, locate
from vtr_core.systems.loaded_model import ColumnKind

MARKER = "checkpoint.json"
"""The file of a checkpoint, written last, that lists the others with their hashes."""
REFERENCE = "reference.json"
_FOR_TRAINING_ALONE = ("optimizer.pt",)


@dataclass(frozen=True)
class KeptFiles:
    """The copy or reference of a checkpoint in a registered model."""

    fingerprint: str
    """sha256 of the checkpoint's list of files and hashes, and with it of all that it holds."""
    copied: bool
    """Whether the files were copied."""
    num_bytes: int
    """Size of what is kept."""


def keep_files(checkpoint: Location, folder: Path) -> KeptFiles:
    """Put what a model keeps into the new `folder`; CheckpointError where the checkpoint is incomplete or damaged."""
    folder.mkdir()
    marker = _marker(checkpoint)
    fingerprint = hashlib.sha256(marker).hexdigest()
    if not checkpoint.is_local:
        storage.write_json(locate(folder / REFERENCE), {"uri": checkpoint.uri, "fingerprint": fingerprint})
        return KeptFiles(fingerprint, False, _size(folder))
    for name, expected in _hashes(checkpoint).items():
        if name not in _FOR_TRAINING_ALONE:
            (folder / name).write_bytes(_checked(checkpoint / name, expected))
    (folder / MARKER).write_bytes(marker)
    return KeptFiles(fingerprint, True, _size(folder))


def kept_checkpoint(folder: Location, fingerprint: str | None = None) -> Location:
    """The checkpoint of a model whose files are in `folder`: that folder, or the location it refers to.

    Raises CheckpointError where it does not exist any more, or is not the one that was registered (`fingerprint`, if
    given).
    """
    place, fingerprints = folder, {fingerprint} - {None}
    if storage.exists(folder / REFERENCE):
        uri, expected = _reference(folder / REFERENCE)
        place, fingerprints = locate(uri), {*fingerprints, expected}
        if not storage.exists(place / MARKER):
            raise CheckpointError(
                f"the model is the checkpoint {place}, which is not there any more; restore it, or register another one"
            )
    if fingerprints - {hashlib.sha256(_marker(place)).hexdigest()}:
        raise CheckpointError(
            f"{place} is not the checkpoint that was registered (its hashes differ); register it anew"
        )
    return place


def checked_file(checkpoint: Location, name: str) -> bytes:
    """A file of a checkpoint; CheckpointError where it is missing or its hash differs."""
    hashes = _hashes(checkpoint)
    if name not in hashes:
        raise CheckpointError(f"{checkpoint} lacks {name}; use another checkpoint of the run")
    return _checked(checkpoint / name, hashes[name])


def _reference(place: Location) -> tuple[str, str]:
    value = storage.read_json(place)
    members = [value.get(name) for name in ("uri", "fingerprint")] if isinstance(value, dict) else []
    match members:
        case [str(uri), str(fingerprint)]:
            return uri, fingerprint
        case _:
            raise CheckpointError(f"{place} is damaged: it must hold a uri and a fingerprint; register it anew")


def _marker(checkpoint: Location) -> bytes:
    try:
        return storage.read_bytes(checkpoint / MARKER)
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{checkpoint} is not a complete checkpoint: it has no {MARKER}; give a folder in the checkpoints/ of a run"
        ) from error


def _hashes(checkpoint: Location) -> dict[str, str]:
    marker: Any = None
    with suppress(ValueError):
        marker = parse_json(_marker(checkpoint))
    files = marker.get("files") if isinstance(marker, dict) else None
    if not isinstance(files, dict) or not all(storage.is_file_name(name) for name in files):
        raise CheckpointError(f"{checkpoint / MARKER} is damaged; use another checkpoint of the run")
    return files


def _checked(place: Location, expected: str) -> bytes:
    try:
        content = storage.read_bytes(place)
    except OSError as error:
        raise CheckpointError(f"{place} cannot be read ({error}); use another checkpoint of the run") from error
    if hashlib.sha256(content).hexdigest() != expected:
        raise CheckpointError(f"{place} is damaged (its sha256 differs); use another checkpoint of the run")
    return content


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


_IMPORTED = (
    *("av", "torch", "numpy", "pandas", "pillow", "obstore", "pyarrow", "pydantic", "safetensors", "jaxtyping"),
    *("regex", "icu4py"),
)
_OF_OBJECT_STORES = ("boto3",)


def model_requirements(on_object_store: bool) -> list[str]:
    """The packages that loading and predicting import, in the installed versions.

    on_object_store: whether the model refers to a checkpoint on an object store, which needs a client.
    """
    names = (*_IMPORTED, *(_OF_OBJECT_STORES if on_object_store else ()))
    return [requirement(name, metadata.version(name)) for name in names]


def requirement(name: str, installed: str) -> str:
    """A requirement that a package index can satisfy, as close to the installed version as possible.

    A local build (2.13.0+cpu) becomes the release that it was built from, whose builds for other devices are as good. A
    pre-release, as in a vendor's image, becomes any later version.
    """
    version = Version(installed)
    return f"{name}{'>=' if version.is_prerelease else '=='}{version.public}"


LOADER = "vtr_core.train.served_model"
"""The module by which MLflow loads a model."""
DATA = "checkpoint"
"""The folder with the kept part of the checkpoint, in the model's `data/`."""


def write_model(folder: Path, config: TrainConfig, copied: bool, run_id: str, model_id: str) -> None:
    """Make `folder/model` around `folder/checkpoint`, the kept part of a checkpoint of that configuration.

    copied: whether that is a copy of the checkpoint's files, or a reference to them on an object store. The model has a
    copy of this package, which MLflow puts first on Python's path where it loads the model; a vtr that a process has
    imported already loads it itself.
    """
    mlflow.pyfunc.save_model(
        path=str(folder / "model"),
        loader_module=LOADER,
        code_paths=[str(Path(vtr_core.__file__).parent)],
        data_path=str(folder / DATA),
        signature=signature(config),
        input_example=example(config),
        pip_requirements=model_requirements(on_object_store=not copied),
        uv_project_path=str(folder),  # not the working directory's, which may be of any project
        mlflow_model=Model(run_id=run_id, model_uuid=model_id, model_id=model_id),
    )


_TYPES: Mapping[ColumnKind, DataType | Array] = {
    "text": DataType.string,
    "integers": Array(DataType.long),
    "floats": Array(DataType.float),
    "doubles": Array(DataType.double),
    "frames": Array(Array(DataType.double)),
}
_OF_DOWNLOAD = "registered_model_meta"
"""What MLflow adds to a model that it downloads."""


def code_fingerprint(model: Path) -> str:
    """sha256 of all by which MLflow loads the model in a folder: its files but the checkpoint, by name and content.

    So it is of its code, of the loader that `MLmodel` names, and of whatever else lies there to be imported.
    """
    lines = []
    for file in sorted(model.rglob("*")):
        name = file.relative_to(model).as_posix()
        if file.is_file() and name != _OF_DOWNLOAD and not name.startswith(f"data/{DATA}/"):
            lines.append(f"{hashlib.sha256(file.read_bytes()).hexdigest()} {name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def signature(config: TrainConfig) -> ModelSignature:
    """The model's input and output columns, as its system defines them."""
    columns = config.model.system().implementation().signature(config.model)
    inputs, outputs = (
        Schema([ColSpec(_TYPES[column.kind], column.name, required=column.required) for column in side])
        for side in (columns.inputs, columns.outputs)
    )
    return ModelSignature(inputs=inputs, outputs=outputs)


def example(config: TrainConfig) -> pd.DataFrame:
    """An example row of the model's input."""
    return pd.DataFrame(dict(config.model.system().implementation().signature(config.model).example_row))


def model_page(model: ModelConfig, name: str, alias: str) -> str:
    """The description, in Markdown, of models registered as `name`; `alias` points to the newest."""
    system = model.system()
    signature = system.implementation().signature(model)
    column = f'["{signature.example_output}"]' if signature.example_output else ""
    task = [] if system.evaluation == "retrieval" else ["--task", system.evaluation]
    lines = [
        signature.description,
        "",
        "```",
        f'model = mlflow.pyfunc.load_model("models:/{name}@{alias}")',
        f"model.predict(pandas.DataFrame({signature.example_input})){column}",
        "```",
        "",
        f"`{command_line('evaluate', f'models:/{name}@{alias}', *task, '--data', 'URI')}`",
        "",
        f'`pip install -r` what `mlflow.pyfunc.get_model_dependencies("models:/{name}@{alias}")` names is enough: the '
        "model carries the code that loads it, of the vtr that the version's description names.",
    ]
    return "\n".join(lines) + "\n"
