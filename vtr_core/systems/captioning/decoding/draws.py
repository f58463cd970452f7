"""Captions that a captioner drew in training, to be scored."""

from dataclasses import dataclass

from jaxtyping import Int64
from torch import Tensor


@dataclass(frozen=True)
class Draws:
    """Captions of each row of a batch as word ids with the end token, padded with 0."""

    words: Int64[Tensor, "rows samples length"]
    end: int
    """The id of the end token."""
    temperature: float
    """Of the probabilities that they were drawn from."""
