"""`video-swin`: Video Swin-B (Liu et al. 2022) on 32 frames."""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32, UInt8

from vtr_core.backbones.inputs import IMAGENET, to_floats
from vtr_core.backbones.weights import load_state, read_state
from vtr_core.errors import CheckpointError
from vtr_core.nn.video_swin import VideoSwin

_PARTS = "backbone."
"""Prefix of the network's parameters in checkpoints with a classifier."""


def load(weights: str | None, device: str) -> "SwinExtractor":
    """The extractor from (32, 224, 224, 3) to (784, 1024)."""
    network = VideoSwin()
    if weights is not None:
        load_swin(network, weights)
    return SwinExtractor(network.eval().to(device), device)


class SwinExtractor:
    """Rows of 1024 values for the 16 × 7 × 7 positions in time, height and width, in this order."""

    def __init__(self, network: "VideoSwin", device: str) -> None:
        self._network, self._device = network, device

    def __call__(self, values: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "rows dim"]:
        """The rows of one clip of 32 frames."""
        frames = to_floats(values, IMAGENET, self._device).transpose(0, 1)[None]
        with torch.inference_mode():
            return self._network(frames)[0].flatten(0, 2).float().cpu().numpy()


def load_swin(network: VideoSwin, file: str) -> None:
    """Load all parameters; CheckpointError where the file is missing or of another network."""
    if not Path(file).is_file():
        raise CheckpointError(f"there is no file of weights {file}; give model.backbone.weights a file on every node")
    state = read_state(file)
    inside = {name.removeprefix(_PARTS): value for name, value in state.items() if name.startswith(_PARTS)}
    load_state(network, inside or state, file)
