"""Slow, obvious log-mel columns: a loop over columns, frequencies and bands."""

import math

import numpy as np


def hertz_to_mel(hertz: float) -> float:
    """Slaney's scale: linear below 1 kHz, logarithmic above."""
    return hertz / (200 / 3) if hertz < 1000 else 15 + math.log(hertz / 1000) / (math.log(6.4) / 27)


def mel_to_hertz(mel: float) -> float:
    """The inverse."""
    return mel * (200 / 3) if mel < 15 else 1000 * math.exp((mel - 15) * math.log(6.4) / 27)


def column(samples: np.ndarray, first: int) -> np.ndarray:
    """The 40 bands in decibels of the 400 samples from `first` on; what lies after the end is silence."""
    emphasised = [samples[0], *(samples[t] - 0.97 * samples[t - 1] for t in range(1, len(samples)))]
    piece = [emphasised[t] if t < len(samples) else 0.0 for t in range(first, first + 400)]
    windowed = [x * (0.54 - 0.46 * math.cos(2 * math.pi * t / 400)) for t, x in enumerate(piece)]
    times = np.arange(400)
    power = [abs(np.sum(np.array(windowed) * np.exp(-2j * math.pi * k * times / 400))) ** 2 for k in range(201)]
    low, high = hertz_to_mel(20), hertz_to_mel(8000)
    edges = [mel_to_hertz(low + (high - low) * i / 41) for i in range(42)]
    bands = []
    for left, middle, right in zip(edges, edges[1:], edges[2:], strict=False):
        total = 0.0
        for k in range(201):
            hertz = 40.0 * k
            height = max(0.0, min((hertz - left) / (middle - left), (right - hertz) / (right - middle)))
            total += height * 2 / (right - left) * power[k]
        bands.append(10 * math.log10(max(total, 1e-10)))
    return np.array(bands)
