"""The towers of a model as ONNX, each compared with torch on other numbers of rows before it counts as exported."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.retrieval.embed.joint_space import JointSpace
from vtr_core.run.models import system_of
from vtr_core.train.checkpoint.load import LoadedModel

TOLERANCE = 1e-4
"""Largest difference of a value from torch's, relative to the largest value."""


def check_onnx(loaded: LoadedModel) -> None:
    """ConfigError for a model without towers that ONNX can hold, or where the exporter is not installed."""
    space = system_of(loaded.config.model).implementation().retrieval
    if not isinstance(space, JointSpace) or space.towers is None:
        raise ConfigError(
            f"--onnx: a {loaded.config.model.kind!r} model has no towers that ONNX can hold (models of clips have); "
            "leave it out"
        )
    _runtime()


def export_onnx(loaded: LoadedModel, folder: Path) -> dict[str, float]:
    """Write `<modality>.onnx` for each tower to `folder`; the largest difference from torch of each, by modality.

    Inputs are tokens int64 (rows, max_words) or a feature float32 (rows, dim), of any number of rows. CheckpointError
    where a tower cannot be exported, or computes something else than torch.
    """
    check_onnx(loaded)
    space = system_of(loaded.config.model).implementation().retrieval
    assert isinstance(space, JointSpace)
    assert space.towers is not None, "checked above"
    return {name: _export(folder / f"{name}.onnx", name, *tower) for name, tower in space.towers(loaded).items()}


def _export(file: Path, name: str, tower: nn.Module, example: Tensor) -> float:
    shapes = ({0: torch.export.Dim.DYNAMIC},)
    try:
        with torch.no_grad():
            program = torch.onnx.export(
                tower, (example,), dynamo=True, input_names=[name], output_names=["vectors"], dynamic_shapes=shapes,
                verbose=False,
            )  # fmt: skip
        assert program is not None
        content: Any = io.BytesIO()  # which it takes as well as the path that its types name
        program.save(content)
    except Exception as error:  # whatever the exporter meets in a network
        raise CheckpointError(f"{name} cannot be exported as ONNX: {' '.join(str(error).split())[:300]}") from error
    file.write_bytes(content.getvalue())
    session = _runtime().InferenceSession(content.getvalue())
    difference = max(_difference(session, name, tower, example.repeat(3, 1)[:rows]) for rows in (1, 3, 9))
    if not difference <= TOLERANCE:
        raise CheckpointError(f"{file}: ONNX differs from torch by {difference:g} of the largest value; do not use it")
    return difference


def _difference(session: Any, name: str, tower: nn.Module, values: Tensor) -> float:
    with torch.no_grad():
        expected = tower(values).numpy()
    (found,) = session.run(None, {name: values.numpy()})
    return float(np.abs(found - expected).max() / max(1e-12, np.abs(expected).max()))


def _runtime() -> Any:
    try:
        import onnxruntime
        import onnxscript  # noqa: F401  torch's exporter needs it
    except ImportError as error:
        raise ConfigError("--onnx needs the extra onnx: pip install 'vtr-ray[onnx]'") from error
    return onnxruntime
