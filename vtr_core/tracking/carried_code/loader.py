"""Loads a registered model that carries its code; a copy of this module is in the model, beside the archive.

MLflow imports that copy by name where this package need not be installed. So it imports only what MLflow itself depends
on; the rest comes from the archive.
"""

import importlib
import logging
import sys
import zipfile
from pathlib import Path
from typing import Any

from packaging.version import Version

logger = logging.getLogger(__name__)


def _load_pyfunc(data_path: str) -> Any:
    """The model whose files are in the folder `data_path`; called by MLflow.

    The code that the model carries comes last on Python's path: a vtr that is installed, or already imported, takes
    precedence, and the model's code hides nothing that this process imports later.
    """
    archive = Path(__file__).with_suffix(".zip")
    if str(archive) not in sys.path:
        sys.path.append(str(archive))
    used = Version(vars(importlib.import_module("vtr_core")).get("__version__", "0"))
    with zipfile.ZipFile(archive) as opened:
        carried = Version(opened.comment.decode())
    if used < carried:
        logger.warning(
            "the model carries vtr %s, the older %s of this process loads it; if it cannot, upgrade it, or load the "
            "model in a process without it",
            carried,
            used,
        )
    return importlib.import_module("vtr_core.train.served_model")._load_pyfunc(data_path)  # noqa: SLF001 (the name by which MLflow loads it)
