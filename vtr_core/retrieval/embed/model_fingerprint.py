"""The fingerprint of a model's weights, by which vectors of different models are told apart."""

import hashlib

import torch
from torch import Tensor, nn


def model_fingerprint(model: nn.Module) -> str:
    """sha256 of the names and bytes of all weights, independent of the checkpoint's location."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()


def _bytes(tensor: Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
