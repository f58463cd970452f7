"""The folder of an MLflow model: signature, example, requirements, description, and the code that loads it."""

from importlib import metadata
from pathlib import Path

import mlflow.pyfunc
import pandas as pd
from mlflow.models import Model, ModelSignature
from mlflow.types import DataType, Schema
from mlflow.types.schema import Array, ColSpec, TensorSpec
from packaging.version import Version

import vtr_core
from vtr_core.config.run import ModelConfig, TrainConfig
from vtr_core.systems.loaded_model import Column, ColumnKind

_IMPORTED = ("av", "torch", "numpy", "pandas", "pillow", "obstore", "pyarrow", "pydantic", "safetensors", "jaxtyping")
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


def signature(config: TrainConfig) -> ModelSignature:
    """The model's input and output columns, as its system defines them."""
    columns = config.model.system().implementation().signature(config.model)
    return ModelSignature(inputs=_schema(columns.inputs), outputs=_schema(columns.outputs))


def example(config: TrainConfig) -> pd.DataFrame:
    """An example row of the model's input."""
    return pd.DataFrame(dict(config.model.system().implementation().signature(config.model).example_row))


def _schema(columns: tuple[Column, ...]) -> Schema:
    specs: list[ColSpec | TensorSpec] = [
        ColSpec(_type(column.kind), column.name, required=column.required) for column in columns
    ]
    return Schema(specs)


def _type(kind: ColumnKind) -> DataType | Array:
    match kind:
        case "text":
            return DataType.string
        case "integers":
            return Array(DataType.long)
        case "floats":
            return Array(DataType.float)
        case "doubles":
            return Array(DataType.double)
        case "frames":
            return Array(Array(DataType.double))


def model_page(model: ModelConfig, name: str, alias: str) -> str:
    """The description, in Markdown, of models registered as `name`; `alias` points to the newest."""
    system = model.system()
    signature = system.implementation().signature(model)
    column = f'["{signature.example_output}"]' if signature.example_output else ""
    task = "" if system.evaluation == "retrieval" else f"--task {system.evaluation} "
    lines = [
        signature.description,
        "",
        "```",
        f'model = mlflow.pyfunc.load_model("models:/{name}@{alias}")',
        f"model.predict(pandas.DataFrame({signature.example_input})){column}",
        "```",
        "",
        f"`vtr evaluate models:/{name}@{alias} {task}--data URI`",
        "",
        f'`pip install -r` what `mlflow.pyfunc.get_model_dependencies("models:/{name}@{alias}")` names is enough: the '
        "model carries the code that loads it, of the vtr that the version's description names.",
    ]
    return "\n".join(lines) + "\n"
