"""`davenet`: the residual audio network of AVLnet (Rouditchenko et al. 2021) before its pooling over time."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor, nn

from vtr_core.backbones.inputs import BANDS, SAMPLE_RATE, log_mel
from vtr_core.backbones.weights import load_state, read_state

SECONDS = 64
"""Seconds of sound in one forward pass."""
COLUMNS_A_ROW = 16
_WIDTHS, _BLOCKS, _KERNEL = (128, 128, 256, 512, 1024), 2, 9
_PART = "DAVEnet."
"""Prefix of the network's parameters in checkpoints of the whole AVLnet."""


def load(weights: str | None, device: str) -> "DavenetExtractor":
    """The extractor from sound at 16 kHz to 6.25 rows per second of 1024 values."""
    network = Davenet()
    if weights is not None:
        state = read_state(weights)
        inside = {name.removeprefix(_PART): value for name, value in state.items() if name.startswith(_PART)}
        load_state(network, inside or state, weights)
    return DavenetExtractor(network.eval().to(device), device)


class Davenet(nn.Module):
    """A convolution over all bands, then residual stages of convolutions over time, each halving the columns."""

    def __init__(self) -> None:
        super().__init__()
        self.batchnorm1 = nn.BatchNorm2d(1)  # in the checkpoints, but unused
        self.conv1 = nn.Conv2d(1, _WIDTHS[0], (BANDS, 1), bias=False)
        self.bn1 = nn.BatchNorm2d(_WIDTHS[0])
        self.layer1, self.layer2, self.layer3, self.layer4 = (_stage(*pair) for pair in pairwise(_WIDTHS))

    def forward(self, spectrogram: Float[Tensor, "clips bands columns"]) -> Float[Tensor, "clips dim rows"]:
        """(clips, 1024, columns / 16)."""
        heard = torch.relu(self.bn1(self.conv1(spectrogram[:, None])))
        return self.layer4(self.layer3(self.layer2(self.layer1(heard)))).squeeze(2)


class Block(nn.Module):
    """Residual block of two convolutions over 9 columns."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _along_time(before, width, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _along_time(width, width, 1)
        self.bn2 = nn.BatchNorm2d(width)
        shortcut = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))
        self.downsample = shortcut if stride != 1 or before != width else None

    def forward(self, heard: Float[Tensor, "clips _ 1 columns"]) -> Float[Tensor, "clips width 1 fewer"]:
        """The output of the block."""
        shortcut = heard if self.downsample is None else self.downsample(heard)
        heard = torch.relu(self.bn1(self.conv1(heard)))
        return torch.relu(self.bn2(self.conv2(heard)) + shortcut)


def _along_time(before: int, width: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(before, width, (1, _KERNEL), stride, (0, _KERNEL // 2), bias=False)


def _stage(before: int, width: int) -> nn.Sequential:
    return nn.Sequential(Block(before, width, 2), *(Block(width, width, 1) for _ in range(_BLOCKS - 1)))


@dataclass(frozen=True)
class DavenetExtractor:
    """One row per 160 ms of sound. The maximum of the spectrogram of a chunk is the 0 dB reference, as in AVLnet."""

    network: nn.Module
    device: str

    def __call__(self, values: Float32[np.ndarray, " samples"]) -> Float32[np.ndarray, "rows dim"]:
        """Subtracts the mean of the samples first, as in AVLnet. Less sound than one row needs yields no rows."""
        rows = min(len(values), SECONDS * SAMPLE_RATE) // (COLUMNS_A_ROW * SAMPLE_RATE // 100)
        if not rows:
            return np.zeros((0, _WIDTHS[-1]), np.float32)
        samples = torch.from_numpy(values).to(self.device)
        with torch.inference_mode():
            spectrogram = log_mel(samples - samples.mean())[:, : rows * COLUMNS_A_ROW]
            spectrogram = (spectrogram - spectrogram.max()).clamp_min(-80.0)
            return self.network(spectrogram[None])[0].T.cpu().numpy()
