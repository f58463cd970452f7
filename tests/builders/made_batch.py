"""A random batch to examine a configuration without data: features of a chosen distribution, captions, images."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, assert_never

import numpy as np
import torch
from jaxtyping import Float32, Int64

from tests.builders.signal import Signal, measure
from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig
from vtr_core.data.captions import InformationTable
from vtr_core.data.concepts.concept_table import ConceptCounts, ConceptTable, CountedSet, TableHead
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.data.reading.row_groups import Columns
from vtr_core.data.records.arrays import kept_column, mean_column
from vtr_core.data.records.schema import CAPTION_VECTORS
from vtr_core.data.records.schema import FRAMES as PICTURES
from vtr_core.encoders.bundled import class_names
from vtr_core.run.build import build_model, build_task
from vtr_core.run.inputs import text_encoder_changes
from vtr_core.systems.implementation import LossTables
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary

FeatureKind = Literal["unit", "raw", "standardized"]
KINDS: Mapping[FeatureKind, str] = MappingProxyType(
    {
        "unit": "positive and of length 1",
        "raw": "positive and of length 10 to 40",
        "standardized": "of mean 0 and deviation 1",
    }
)
"""Feature statistics as of HowTo100M's loaders, of a ReLU, and of standardised features."""
NUM_WORDS = 2000
FRAMES = 8
MOST_ROWS = 64
"""Of a batch to examine."""
_COMMON = 0.7
"""Share of a frame's variance that all frames of the video have in common."""


@dataclass(frozen=True)
class MadeBatch:
    """Columns of a batch, as training reads them, and what else a model and its task need."""

    config: TrainConfig
    """The configuration, with inputs of the batch's shapes and its number of rows."""
    columns: Columns
    statistics: dict[str, FeatureStatistics]
    tables: LossTables


def made_batch(config: TrainConfig, kind: FeatureKind, rows: int = MOST_ROWS, seed: int = 0) -> MadeBatch:
    """A random batch: every row is a different clip or video; for images, four rows of each subject."""
    system, generator = config.model.system(), np.random.default_rng(seed)
    records = system.records(config.model)
    features = dict(system.usual_features(config.model))
    inputs = {"features": features, "num_words": NUM_WORDS}
    videos, each = (rows // 4, 4) if records == "images" else (rows, 1)
    changes: dict[str, Any] = {"batch.videos": videos, "batch.clips_per_video": each, "scaling.workers": 1}
    if records != "images":
        changes |= {f"model.inputs.{name}": value for name, value in inputs.items()}
    if system.granularity(config.loss) is not None:  # so that both of its terms count, and not the first alone
        changes |= {"loss.granularity_margin.freeze_bias": False}
    config = override(config, {**changes, **text_encoder_changes(config.model)})
    statistics: dict[str, FeatureStatistics] = {}
    match records:
        case "clips":
            columns, statistics = _clips(config, features, kind, rows, generator)
        case "videos":
            columns, statistics = _videos(config, features, kind, rows, generator)
        case "images":
            columns = _images(config, rows, generator)
        case "frames":
            columns = _frames(config, rows, generator)
        case _:
            assert_never(records)
    return MadeBatch(config, columns, statistics, _tables(config, columns, generator))


def made_signal(config: TrainConfig, kind: FeatureKind, rows: int = MOST_ROWS, seed: int = 0) -> Signal:
    """The signal of a model of `config` with fresh weights on a `made_batch`."""
    made = made_batch(config, kind, rows, seed)
    torch.manual_seed(seed)
    task = build_task(made.config, 0, 1, made.tables)
    standardizes = config.model.system().standardizes(config.model)
    model = build_model(made.config.model, None, made.statistics if standardizes else None)
    return measure(model, task, made.columns)


def _values(shape: tuple[int, ...], kind: FeatureKind, generator: np.random.Generator) -> Float32[np.ndarray, "..."]:
    drawn = generator.standard_normal(shape, np.float32)
    if kind == "standardized":
        return drawn
    positive = np.maximum(drawn, 0)
    positive /= np.linalg.norm(positive, axis=-1, keepdims=True)
    return positive if kind == "unit" else positive * generator.uniform(10, 40, (*shape[:-1], 1)).astype(np.float32)


def _statistics(values: Float32[np.ndarray, "rows dim"]) -> FeatureStatistics:
    std = values.std(axis=0)
    return FeatureStatistics(values.mean(axis=0), np.where(std > 0, std, 1).astype(np.float32))


def _tokens(config: TrainConfig, rows: int, generator: np.random.Generator) -> np.ndarray:
    """Captions of 4 to 12 words; word r has a frequency of about 1/r, so all captions share some words.

    For a model that reads texts a word is the name of a class of ImageNet.
    """
    system, longest = config.model.system(), config.model.inputs.max_words
    frequency = 1 / np.arange(1, NUM_WORDS + 1)
    words = generator.choice(NUM_WORDS, (rows, longest), p=frequency / frequency.sum()) + 1
    counts = np.minimum(generator.integers(4, 13, rows), longest)
    tokens = np.where(np.arange(longest) < counts[:, None], words, 0).astype(np.int32)
    if not system.reads_texts(config.model):
        return tokens
    names = class_names()
    captions = [" ".join(names[word % len(names)] for word in row[row != 0]) for row in tokens]
    texts = Vocabulary.utf8().encode_all(captions, TEXT_BYTES)
    return np.hstack([tokens, texts]) if system.reads_words_too else texts


def _keys(rows: int) -> Columns:
    numbers = np.arange(rows, dtype=np.int64)
    return {"clip_key": numbers, "video_key": numbers, "caption_key": numbers, "step": np.zeros(1, np.int64)}


def _clips(
    config: TrainConfig, features: dict[str, int], kind: FeatureKind, rows: int, generator: np.random.Generator
) -> tuple[Columns, dict[str, FeatureStatistics]]:
    columns, statistics = _keys(rows), {}
    for name, dim in features.items():
        values = _values((rows, dim), kind, generator)
        columns |= {name: values.astype(np.float16), f"has_{name}": np.ones(rows, bool)}
        statistics[name] = _statistics(values)
    columns["tokens"] = _tokens(config, rows, generator)
    if config.batch.candidates > 1:
        extra = config.batch.candidates - 1
        columns["candidate_tokens"] = _tokens(config, rows * extra, generator).reshape(rows, extra, -1)
    return columns, statistics


def _videos(
    config: TrainConfig, features: dict[str, int], kind: FeatureKind, rows: int, generator: np.random.Generator
) -> tuple[Columns, dict[str, FeatureStatistics]]:
    columns, statistics = _keys(rows), {}
    for name, dim in features.items():
        length = 1 if name == CAPTION_VECTORS else FRAMES
        common = _values((rows, 1, dim), kind, generator)
        values = _COMMON**0.5 * common + (1 - _COMMON) ** 0.5 * _values((rows, length, dim), kind, generator)
        columns |= {name: values.astype(np.float16), kept_column(name): np.full(rows, length, np.int64)}
        columns[mean_column(name)] = values.mean(axis=1)
        statistics[name] = _statistics(values.reshape(-1, dim))
    columns["tokens"] = _tokens(config, rows, generator)
    return columns, statistics


def _images(config: TrainConfig, rows: int, generator: np.random.Generator) -> Columns:
    """Four images of each subject: a coarse random pattern of the subject, plus noise."""
    image = config.model_dump()["model"]["image"]  # a model that reads images has their shape
    height, width = image["height"], image["width"]
    columns = _keys(rows)
    columns["video_key"] = columns["clip_key"] // 4
    spots = generator.uniform(0, 255, (rows // 4, 8, 8, image["channels"]))
    index = [np.arange(size) * 8 // size for size in (height, width)]
    faces = spots[:, index[0]][:, :, index[1]].repeat(4, axis=0)
    noisy = faces + 20 * generator.standard_normal(faces.shape)
    columns["pixels"] = noisy.clip(0, 255).astype(np.uint8).reshape(rows, -1)
    return columns


def _frames(config: TrainConfig, rows: int, generator: np.random.Generator) -> Columns:
    """Frames: a coarse random pattern of the clip, plus noise."""
    size = config.model_dump()["model"]["stored_size"]  # a model that reads frames has their size
    columns, place = _keys(rows), np.arange(size) * 8 // size
    spots = generator.uniform(0, 255, (rows, 1, 8, 8, 3))
    noisy = spots[:, :, place][:, :, :, place] + 20 * generator.standard_normal((rows, FRAMES, size, size, 3))
    columns |= {PICTURES: noisy.clip(0, 255).astype(np.uint8).reshape(rows, FRAMES, -1)}
    columns |= {kept_column(PICTURES): np.full(rows, FRAMES, np.int64), "tokens": _tokens(config, rows, generator)}
    return columns


def _tables(config: TrainConfig, columns: Columns, generator: np.random.Generator) -> LossTables:
    """Labels and information at random."""
    return LossTables(_concepts(config, columns), _information(config, columns, generator))


def _concepts(config: TrainConfig, columns: Columns) -> ConceptTable | None:
    """Three concepts per video, for models that detect concepts."""
    expected = config.model.system().num_concepts(config.model)
    if expected is None:
        return None
    keys: Int64[np.ndarray, " rows"] = columns["video_key"]
    names = tuple(f"concept{number}" for number in range(expected))
    remaining = [{names[int(key) * 7 % expected]: 1, names[int(key) % expected]: 2, names[0]: 1} for key in keys]
    head = TableHead("", "", (), False, names, (1,) * expected, (CountedSet("made", "", len(keys), len(keys), 1),))
    return ConceptTable("made", head, ConceptCounts.from_kept(keys.tolist(), remaining, names))


def _information(config: TrainConfig, columns: Columns, generator: np.random.Generator) -> InformationTable | None:
    """Random information content of the captions, where a loss has a granularity margin."""
    margin = config.model.system().granularity(config.loss)
    if margin is None:
        return None
    values = generator.uniform(0, 3, len(columns["tokens"]))
    return InformationTable(margin.reading, columns["video_key"], columns["caption_key"], values)
