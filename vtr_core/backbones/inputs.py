"""What networks take: pixels of frames, and the log-mel spectrogram of a sound."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt8
from torch import Tensor

from vtr_core.nn.video_swin import DEVIATION, MEAN


@dataclass(frozen=True)
class Normalization:
    """(value / divisor − mean) / deviation, per channel (red, green, blue)."""

    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]
    divisor: float = 255.0


_AT_ONCE_CPU, _AT_ONCE_GPU = 4, 32
IMAGENET = Normalization(MEAN, DEVIATION)


def to_floats(
    pixels: UInt8[np.ndarray, "frames height width 3"], how: Normalization, device: str
) -> Float[Tensor, "frames 3 height width"]:
    """Normalised pictures; conversion happens on the device, so that uint8 is transferred."""
    values = torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).float()
    mean, deviation = (torch.tensor(three, device=device).view(3, 1, 1) for three in (how.mean, how.deviation))
    return values.div_(how.divisor).sub_(mean).div_(deviation)


@dataclass(frozen=True)
class PictureExtractor:
    """Features of pictures by a network from (frames, 3, height, width) to (frames, dim).

    Batches are small on a CPU, for its caches, and large on a GPU.
    """

    network: Callable[[Tensor], Tensor]
    normalization: Normalization
    device: str

    def __call__(self, values: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "rows dim"]:
        """One row per picture."""
        with torch.inference_mode():
            parts = torch.from_numpy(values).split(_AT_ONCE_CPU if self.device == "cpu" else _AT_ONCE_GPU)
            rows = [self.network(to_floats(part.numpy(), self.normalization, self.device)) for part in parts]
            return torch.cat(rows).float().cpu().numpy()


SAMPLE_RATE = 16_000
WINDOW, HOP, BANDS = 400, 160, 40
OVERLAP = WINDOW - HOP
"""Samples of the next second within the window of a second's last column."""
LOWEST_HZ = 20.0
_PRE_EMPHASIS = 0.97
_SMALLEST_POWER = 1e-10
_COLUMNS = SAMPLE_RATE // HOP


def load(weights: str | None, device: str) -> "LogMel":  # noqa: ARG001  there are no weights
    """The extractor, on a CPU or a GPU."""
    return LogMel(device)


@dataclass(frozen=True)
class LogMel:
    """Rows of 80 values, one per second: 40 means and 40 population standard deviations."""

    device: str

    def __call__(self, values: Float32[np.ndarray, " samples"]) -> Float32[np.ndarray, "rows dim"]:
        """One row per second whose middle is within the samples; the last one covers the samples that it has."""
        seconds = min(len(values), 60 * SAMPLE_RATE) / SAMPLE_RATE
        rows = math.ceil(seconds - 0.5)
        if rows < 1:
            return np.zeros((0, 2 * BANDS), np.float32)
        columns = log_mel(torch.from_numpy(values).to(self.device))
        parts = [columns[:, _COLUMNS * row : _COLUMNS * (row + 1)] for row in range(rows)]
        pooled = [torch.cat([part.mean(dim=1), part.std(dim=1, correction=0)]) for part in parts]
        return torch.stack(pooled).cpu().numpy()


def log_mel(samples: Float[Tensor, " samples"]) -> Float[Tensor, "bands columns"]:
    """10 log10 of the power in 40 mel bands; column c is of the 25 ms from 10 c ms on, with a Hamming window.

    Pre-emphasis x_t − .97 x_{t−1}; silence is −100 dB. There is a column for every 10 ms that begin within the samples.
    """
    emphasised = torch.cat([samples[:1], samples[1:] - _PRE_EMPHASIS * samples[:-1]])
    padded = torch.nn.functional.pad(emphasised, (0, OVERLAP + HOP - 1))
    window = torch.hamming_window(WINDOW, device=samples.device)
    spectrum = torch.stft(padded, WINDOW, HOP, WINDOW, window, center=False, return_complex=True)
    power = spectrum[:, : math.ceil(len(samples) / HOP)].abs().square()
    bands = mel_bands(WINDOW // 2 + 1).to(samples.device) @ power
    return 10 * bands.clamp_min(_SMALLEST_POWER).log10()


def mel_bands(bins: int) -> Float[Tensor, "bands bins"]:
    """Triangular filters of equal width in mel (Slaney's scale) and of equal area in hertz, from 20 Hz to 8 kHz."""
    edges = _hertz(torch.linspace(_mel(LOWEST_HZ), _mel(SAMPLE_RATE / 2), BANDS + 2, dtype=torch.float64))
    hertz = torch.linspace(0, SAMPLE_RATE / 2, bins, dtype=torch.float64)
    rising = (hertz - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - hertz) / (edges[2:] - edges[1:-1])[:, None]
    triangles = torch.minimum(rising, falling).clamp_min(0)
    return (triangles * (2 / (edges[2:] - edges[:-2]))[:, None]).float()


def _mel(hertz: float) -> float:
    return 3 * hertz / 200 if hertz < 1000 else 15 + 27 * math.log(hertz / 1000) / math.log(6.4)


def _hertz(mel: Tensor) -> Tensor:
    return torch.where(mel < 15, 200 * mel / 3, 1000 * torch.exp((mel - 15) * math.log(6.4) / 27))
