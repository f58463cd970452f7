"""Weights of other projects' networks, read without unpickling objects."""

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from vtr_core.errors import CheckpointError, ConfigError

READ_FAULTS = (
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    SafetensorError,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
)
"""What reading a damaged or malicious file raises."""
_SHOWN = 3


def read_state(file: str | Path) -> dict[str, Tensor]:
    """The tensors of a .safetensors file or a file by torch.save, by name.

    Only tensors are unpickled. Takes the entry `state_dict` or `model` where the checkpoint has one, and removes the
    prefix `module.` of data parallel training. Raises CheckpointError for other files.
    """
    try:
        if Path(file).suffix == ".safetensors":
            return dict(load_file(file))
        content = _content(file)
    except READ_FAULTS as error:
        why = str(error) or "it is empty, or cut off"
        raise CheckpointError(f"{file} is not a file of weights ({why}); give .safetensors or torch's") from error
    for inner in ("state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(inner), Mapping):
            content = content[inner]
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise CheckpointError(f"{file} holds no tensors by name; give the published file of weights")
    return {str(name).removeprefix("module."): value for name, value in content.items()}


def convert(file: str | Path, out: Path) -> Mapping[str, Tensor]:
    """Write the tensors of a file of weights as safetensors; returns them.

    CheckpointError for another file, ConfigError where `out` exists, is no .safetensors file, or cannot be written.
    """
    if out.suffix != ".safetensors" or out.exists():
        fault = "exists" if out.exists() else "does not end in .safetensors"
        raise ConfigError(f"{out} {fault}; give the name of a new file that ends in .safetensors")
    # Two names of one storage are two tensors in safetensors.
    state = {name: value.clone(memory_format=torch.contiguous_format) for name, value in read_state(file).items()}
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        save_file(state, out)
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"{out} cannot be written ({error}); give a file in a folder that can be") from error
    return state


def _content(file: str | Path) -> object:
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            if any(name.endswith("/constants.pkl") for name in archive.namelist()):
                raise CheckpointError(
                    f"{file} is a TorchScript archive, a program with its weights; give the weights as safetensors, "
                    "which the hub has of OpenAI's models: hf:openai/clip-vit-base-patch32"
                )
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:  # torch's own words advise to run the pickle's code
        raise pickle.UnpicklingError("no pickle of tensors alone") from error


def load_state(module: nn.Module, state: Mapping[str, Tensor], where: str) -> None:
    """Load all parameters of `module` from `state`; CheckpointError names missing, superfluous and misshapen ones.

    A classifier's parameters (`fc.`) are ignored, as features do not need them.
    """
    expected = module.state_dict()
    missing = [name for name in expected if name not in state and not name.endswith("num_batches_tracked")]
    surplus = [name for name in state if name not in expected and not name.startswith("fc.")]
    wrong = [name for name in expected if name in state and state[name].shape != expected[name].shape]
    for fault, names in (("lacks", missing), ("has unknown", surplus), ("has other shapes of", wrong)):
        if names:
            shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
            raise CheckpointError(f"{where} is of another network: it {fault} {shown}; give the published weights")
    module.load_state_dict({name: state[name] for name in expected if name in state}, strict=False)
