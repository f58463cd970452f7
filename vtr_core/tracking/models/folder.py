"""The folder of an MLflow model: signature, input example, requirements, and the code that loads it."""

from pathlib import Path

import mlflow.pyfunc
import pandas as pd
from mlflow.models import Model, ModelSignature
from mlflow.types import DataType, Schema
from mlflow.types.schema import Array, ColSpec, TensorSpec

from vtr_core.run.config import TrainConfig
from vtr_core.run.models import system_of
from vtr_core.systems.signature import Column, ColumnKind
from vtr_core.tracking.carried_code.archive import CarriedCode, write_code
from vtr_core.tracking.models.requirements import model_requirements

DATA = "checkpoint"
"""The folder with the kept part of the checkpoint, in the model's `data/`."""


def write_model(folder: Path, config: TrainConfig, copied: bool, run_id: str, model_id: str) -> CarriedCode:
    """Make `folder/model` around `folder/checkpoint`, the kept part of a checkpoint of that configuration; its code.

    copied: whether that is a copy of the checkpoint's files, or a reference to them on an object store.
    """
    code = write_code(folder / "code")
    mlflow.pyfunc.save_model(
        path=str(folder / "model"),
        loader_module=code.loader_module,
        code_paths=[str(code.loader), str(code.archive)],
        data_path=str(folder / DATA),
        signature=signature(config),
        input_example=example(config),
        pip_requirements=model_requirements(on_object_store=not copied),
        uv_project_path=str(folder),  # not the working directory's, which may be of any project
        mlflow_model=Model(run_id=run_id, model_uuid=model_id, model_id=model_id),
    )
    return code


def signature(config: TrainConfig) -> ModelSignature:
    """The model's input and output columns, as its system defines them."""
    found = system_of(config.model).implementation().signature(config.model)
    return ModelSignature(inputs=_schema(found.inputs), outputs=_schema(found.outputs))


def example(config: TrainConfig) -> pd.DataFrame:
    """An example row of the model's input."""
    return pd.DataFrame(dict(system_of(config.model).implementation().signature(config.model).example_row))


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
