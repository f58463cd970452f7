"""A random batch to examine a configuration without data: features of a chosen distribution, and captions."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float32

from tests.builders.signal import Signal, measure
from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.data.reading.row_groups import Columns
from vtr_core.run.build import build_model, build_task

FeatureKind = Literal["unit", "raw", "standardized"]
KINDS: Mapping[FeatureKind, str] = MappingProxyType(
    {
        "unit": "positive and of length 1",
        "raw": "positive and of length 10 to 40",
        "standardized": "of mean 0 and deviation 1",
    }
)
"""Feature statistics as of HowTo100M's loaders, of a ReLU, and of standardised features."""
NUM_WORDS, ROWS = 2000, 32


def made_signal(config: TrainConfig, kind: FeatureKind) -> Signal:
    """The signal of a model of `config`, which reads clips, with fresh weights; every row is another video's."""
    system, generator = config.model.system(), np.random.default_rng(0)
    features = dict(system.usual_features(config.model))
    inputs = {"model.inputs.features": features, "model.inputs.num_words": NUM_WORDS}
    shape = {"batch.videos": ROWS, "batch.clips_per_video": 1, "scaling.workers": 1}
    config = override(config, {**inputs, **shape})
    columns, statistics = _clips(config, features, kind, generator)
    torch.manual_seed(0)
    task = build_task(config, 0, 1)
    model = build_model(config.model, None, statistics if system.standardizes(config.model) else None)
    return measure(model, task, columns)


def _clips(
    config: TrainConfig, features: dict[str, int], kind: FeatureKind, generator: np.random.Generator
) -> tuple[Columns, dict[str, FeatureStatistics]]:
    numbers, statistics = np.arange(ROWS, dtype=np.int64), {}
    columns = {"clip_key": numbers, "video_key": numbers, "caption_key": numbers, "step": np.zeros(1, np.int64)}
    for name, dim in features.items():
        values = _values((ROWS, dim), kind, generator)
        columns |= {name: values.astype(np.float16), f"has_{name}": np.ones(ROWS, bool)}
        std = values.std(axis=0)
        statistics[name] = FeatureStatistics(values.mean(axis=0), np.where(std > 0, std, 1).astype(np.float32))
    columns["tokens"] = _tokens(config.model.inputs.max_words, generator)
    return columns, statistics


def _values(shape: tuple[int, int], kind: FeatureKind, generator: np.random.Generator) -> Float32[np.ndarray, "..."]:
    drawn = generator.standard_normal(shape, np.float32)
    if kind == "standardized":
        return drawn
    positive = np.maximum(drawn, 0)
    positive /= np.linalg.norm(positive, axis=-1, keepdims=True)
    return positive if kind == "unit" else positive * generator.uniform(10, 40, (len(drawn), 1)).astype(np.float32)


def _tokens(longest: int, generator: np.random.Generator) -> np.ndarray:
    """Captions of 4 to 12 words; word r has a frequency of about 1/r, so all captions share some words."""
    frequency = 1 / np.arange(1, NUM_WORDS + 1)
    words = generator.choice(NUM_WORDS, (ROWS, longest), p=frequency / frequency.sum()) + 1
    counts = np.minimum(generator.integers(4, 13, ROWS), longest)
    return np.where(np.arange(longest) < counts[:, None], words, 0).astype(np.int32)
