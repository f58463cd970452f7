"""`davenet`: the residual audio network of AVLnet (Rouditchenko et al. 2021) before its pooling over time."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor, nn

from vtr_core.backbones.log_mel import BANDS, SAMPLE_RATE, log_mel
from vtr_core.backbones.weights import load_state, read_state

SECONDS = 64
"""Of sound that the network hears at once."""
COLUMNS_A_ROW = 16
_WIDTHS, _BLOCKS, _KERNEL = (128, 128, 256, 512, 1024), 2, 9
_PART = "DAVEnet."
"""Before the names of the network in a checkpoint of all of AVLnet."""


def load(weights: str | None, device: str) -> "DavenetExtractor":
    """Sound at 16 kHz to (6.25 rows a second, 1024)."""
    network = Davenet()
    if weights is not None:
        state = read_state(weights)
        inside = {name.removeprefix(_PART): value for name, value in state.items() if name.startswith(_PART)}
        load_state(network, inside or state, weights)
    return DavenetExtractor(network.eval().to(device), device)


class Davenet(nn.Module):
    """Convolutions over time alone, after a first one over all bands; each stage halves the columns."""

    def __init__(self) -> None:
        super().__init__()
        self.batchnorm1 = nn.BatchNorm2d(1)  # in the checkpoints, and used by none
        self.conv1 = nn.Conv2d(1, _WIDTHS[0], (BANDS, 1), bias=False)
        self.bn1 = nn.BatchNorm2d(_WIDTHS[0])
        self.layer1, self.layer2, self.layer3, self.layer4 = (_stage(*pair) for pair in pairwise(_WIDTHS))

    def forward(self, spectrogram: Float[Tensor, "clips bands columns"]) -> Float[Tensor, "clips dim rows"]:
        """(clips, 1024, columns / 16)."""
        heard = torch.relu(self.bn1(self.conv1(spectrogram[:, None])))
        return self.layer4(self.layer3(self.layer2(self.layer1(heard)))).squeeze(2)


class Block(nn.Module):
    """Two convolutions of 9 columns, and what came in added to them."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _along_time(before, width, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _along_time(width, width, 1)
        self.bn2 = nn.BatchNorm2d(width)
        shortcut = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))
        self.downsample = shortcut if stride != 1 or before != width else None

    def forward(self, heard: Float[Tensor, "clips _ 1 columns"]) -> Float[Tensor, "clips width 1 fewer"]:
        """Through the block."""
        kept = heard if self.downsample is None else self.downsample(heard)
        heard = torch.relu(self.bn1(self.conv1(heard)))
        return torch.relu(self.bn2(self.conv2(heard)) + kept)


def _along_time(before: int, width: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(before, width, (1, _KERNEL), stride, (0, _KERNEL // 2), bias=False)


def _stage(before: int, width: int) -> nn.Sequential:
    return nn.Sequential(Block(before, width, 2), *(Block(width, width, 1) for _ in range(_BLOCKS - 1)))


@dataclass(frozen=True)
class DavenetExtractor:
    """A row for every 160 ms of sound. The loudest band of what is heard at once is at 0 dB, as in AVLnet."""

    network: nn.Module
    device: str

    def __call__(self, values: Float32[np.ndarray, " samples"]) -> Float32[np.ndarray, "rows dim"]:
        """The mean is taken off the samples before, as in AVLnet. Nothing is heard in less than a row."""
        rows = min(len(values), SECONDS * SAMPLE_RATE) // (COLUMNS_A_ROW * SAMPLE_RATE // 100)
        if not rows:
            return np.zeros((0, _WIDTHS[-1]), np.float32)
        samples = torch.from_numpy(values).to(self.device)
        with torch.inference_mode():
            spectrogram = log_mel(samples - samples.mean())[:, : rows * COLUMNS_A_ROW]
            spectrogram = (spectrogram - spectrogram.max()).clamp_min(-80.0)
            return self.network(spectrogram[None])[0].T.cpu().numpy()
