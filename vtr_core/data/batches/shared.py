"""Tensors in the memory of arrays."""

import warnings

import numpy as np
import torch
from torch import Tensor


def shared_tensor(array: np.ndarray) -> Tensor:
    """A tensor that is the array; read-only where that is, as Ray's is, so nothing may write into it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)
