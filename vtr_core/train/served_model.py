"""A registered model as `mlflow.pyfunc.load_model` returns it: a table in, a table of embeddings or captions out.

Models name this module to MLflow, which calls `_load_pyfunc`, so neither name may change; they carry a copy of this
package, of which this module imports no more than a model's requirements have. Nothing is unpickled.
"""

from typing import Any

import pandas as pd
import torch

from vtr_core.errors import InputError
from vtr_core.storage import locate
from vtr_core.tracking.models.model_folder import kept_checkpoint
from vtr_core.train.checkpoint import LoadedModel, load_model


class ServedModel:
    """Embeds or describes the rows of tables, on the first GPU where there is one.

    Inputs and outputs are defined by each system's `served.py` and by the model's signature.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self._loaded = loaded

    def predict(self, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """The model's output for a table's rows; InputError for a missing column or an invalid value."""
        if params:
            raise InputError(f"the model has no parameters, {', '.join(params)} were given")
        return self._loaded.config.model.system().implementation().predict(self._loaded, model_input)


def _load_pyfunc(data_path: str) -> ServedModel:
    """The model whose files are in the folder `data_path`; called by MLflow."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return ServedModel(load_model(kept_checkpoint(locate(data_path)).uri, device))
