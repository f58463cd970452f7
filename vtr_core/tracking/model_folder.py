"""The folder of an MLflow model: signature, input example, what it needs, and the code that loads it."""

from pathlib import Path

import mlflow.pyfunc
import numpy as np
import pandas as pd
from mlflow.models import Model, ModelSignature
from mlflow.types import DataType, Schema
from mlflow.types.schema import Array, ColSpec, TensorSpec

from vtr_core.config.captioner import CaptionerConfig
from vtr_core.config.dual_encoder import HybridEncoderConfig
from vtr_core.config.model import reads_videos
from vtr_core.config.muse import MuseConfig
from vtr_core.config.siamese import SiameseConfig
from vtr_core.config.train import TrainConfig
from vtr_core.tracking.carried_code.archive import CarriedCode, write_code
from vtr_core.tracking.model_requirements import model_requirements

DATA = "checkpoint"
"""The folder of what is kept of the checkpoint, in the model's `data/`."""


def write_model(folder: Path, config: TrainConfig, copied: bool, run_id: str, model_id: str) -> CarriedCode:
    """Make `folder/model` around `folder/checkpoint`, what is kept of a checkpoint of that configuration; its code.

    copied: whether that is the checkpoint's files, or where they lie on an object store.
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
        uv_project_path=str(folder),  # not that of the working directory, which may be anything's
        mlflow_model=Model(run_id=run_id, model_uuid=model_id, model_id=model_id),
    )
    return code


def signature(config: TrainConfig) -> ModelSignature:
    """A text and a vector for each feature in, each of them optional; vectors in the joint space out.

    Of a dual encoder: a text in, its latent vector and the probabilities of its concepts out. Of MUSE: a text in, its
    vector out. Of a Siamese network: the pixels of an image in, row by row, its encoding out. Of a captioner: the
    vectors of a video's frames in, a text out.
    """
    features = config.model.inputs.features
    if isinstance(config.model, HybridEncoderConfig):
        spaces = {"latent": config.model.latent_dim, "concepts": config.model.num_concepts}
        held = [name for name, size in spaces.items() if size is not None]
        texts: list[ColSpec | TensorSpec] = [ColSpec(DataType.string, "caption")]
        found: list[ColSpec | TensorSpec] = [ColSpec(Array(DataType.float), name, required=False) for name in held]
        return ModelSignature(inputs=Schema(texts), outputs=Schema(found))
    if isinstance(config.model, MuseConfig):
        return ModelSignature(
            inputs=Schema([ColSpec(DataType.string, "caption")]),
            outputs=Schema([ColSpec(Array(DataType.float), "text", required=False)]),
        )
    if isinstance(config.model, SiameseConfig):
        return ModelSignature(
            inputs=Schema([ColSpec(Array(DataType.long), "pixels")]),
            outputs=Schema([ColSpec(Array(DataType.float), "encoding")]),
        )
    vector = Array(DataType.double)
    if isinstance(config.model, CaptionerConfig):
        return ModelSignature(
            inputs=Schema([ColSpec(Array(vector), config.model.feature)]),
            outputs=Schema([ColSpec(DataType.string, "caption", required=False)]),
        )
    given: list[ColSpec | TensorSpec] = [ColSpec(DataType.string, "caption", required=False)]
    given += [ColSpec(vector, name, required=False) for name in features]
    names = ("text", *features)
    embedded: list[ColSpec | TensorSpec] = [ColSpec(Array(DataType.float), name, required=False) for name in names]
    return ModelSignature(inputs=Schema(given), outputs=Schema(embedded))


def example(config: TrainConfig) -> pd.DataFrame:
    """A row with a caption and a vector of the right length for each feature, or what else the model takes."""
    features = config.model.inputs.features
    if isinstance(config.model, CaptionerConfig):
        frames = np.linspace(-1, 1, 2 * features[config.model.feature]).round(3).reshape(2, -1)
        return pd.DataFrame({config.model.feature: [frames.tolist()]})
    if reads_videos(config.model):
        return pd.DataFrame({"caption": ["a person cooks rice"]})
    if isinstance(config.model, SiameseConfig):
        image = config.model.image
        return pd.DataFrame({"pixels": [[i % 256 for i in range(image.height * image.width * image.channels)]]})
    vectors = {name: [np.linspace(-1, 1, dim).round(3).tolist()] for name, dim in features.items()}
    return pd.DataFrame({"caption": ["a person cooks rice"], **vectors})
