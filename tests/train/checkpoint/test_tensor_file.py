"""Tensors written one after another are what safetensors reads, and are never together in memory a second time."""

import io
from collections.abc import Callable
from typing import Any, BinaryIO

import pytest
import safetensors.torch
import torch
from torch import Tensor

from vtr_core.train.checkpoint.checkpoint_files import write_tensors

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
DTYPES += [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def tensors() -> dict[str, Tensor]:
    found = {str(dtype): torch.arange(7).to(dtype) for dtype in DTYPES}
    return {**found, "none": torch.zeros(3, 0), "number": torch.tensor(2.5), "turned": torch.randn(4, 5).T}


def test_safetensors_reads_what_was_written() -> None:
    expected, sink = tensors(), io.BytesIO()
    write_tensors(expected, sink)
    found = safetensors.torch.load(sink.getvalue())
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


class Sizes(io.BytesIO):
    """A sink that knows the size of every write."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def write(self, data: Any) -> int:
        self.sizes.append(memoryview(data).nbytes)
        return super().write(data)


@pytest.mark.parametrize("write", [write_tensors, torch.save])
def test_no_write_is_of_more_than_one_tensor(write: Callable[[dict[str, Tensor], BinaryIO], None]) -> None:
    sink = Sizes()
    write({f"{i}": torch.zeros(5000) for i in range(20)}, sink)
    assert sum(sink.sizes) > 20 * 20_000
    assert max(sink.sizes) <= 20_000
