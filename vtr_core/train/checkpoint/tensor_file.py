"""Tensors written as safetensors one after another, from their own memory.

Format: 8 bytes with the length of the header, little-endian; the header, JSON that gives the dtype, shape and place of
each tensor; the tensors' bytes, little-endian (github.com/huggingface/safetensors). The library's own writers first
copy all tensors.
"""

import json
from collections.abc import Mapping

import torch
from torch import Tensor

from vtr_core.storage.hashing import Sink

_NAMES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.int32: "I32",
    torch.int64: "I64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
}
_ALIGNMENT = 8


def write_tensors(tensors: Mapping[str, Tensor], sink: Sink) -> None:
    """Write the tensors, which `safetensors.torch.load` reads."""
    # wider types first, so that each tensor is aligned
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))
    header, end = {}, 0
    for name, tensor in ordered:
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    sink.write(len(text).to_bytes(8, "little") + text)
    for _, tensor in ordered:
        sink.write(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
