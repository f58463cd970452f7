"""Which pairs of rows of a batch are negatives of each other."""

from typing import Literal

from jaxtyping import Bool, Int64
from torch import Tensor


def negatives_mask(
    clip_key: Int64[Tensor, " batch"],
    caption_key: Int64[Tensor, " batch"],
    video_key: Int64[Tensor, " batch"],
    same_video: Literal["keep", "mask"],
) -> Bool[Tensor, "batch batch"]:
    """[i, j] true where rows i and j show another clip under another caption text, and so count as negatives.

    same_video: "keep" leaves other clips of the same video among the negatives (the paper), "mask" takes them out. The
    diagonal is false; the losses keep it as the positive.
    """
    same = _equal(clip_key) | _equal(caption_key)
    match same_video:
        case "keep":
            return ~same
        case "mask":
            return ~(same | _equal(video_key))


def _equal(key: Int64[Tensor, " batch"]) -> Bool[Tensor, "batch batch"]:
    return key.unsqueeze(0) == key.unsqueeze(1)
