"""A small captioner and videos for it."""

import numpy as np
import torch
from torch import Tensor

from vtr_core.config.override import ModelInputs
from vtr_core.data.batches import FrameBatch, frame_batch
from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.captioning.model import Captioner

WORDS, DIM, MAX_WORDS = 7, 3, 5


def config(**settings: object) -> CaptionerConfig:
    inputs = ModelInputs(features={"video": DIM}, num_words=WORDS, max_words=MAX_WORDS)
    small = {"hidden_dim": 8, "layers": 2, "heads": 2, "mlp_dim": 16, "dropout": 0.0, "max_tokens": 6}
    return CaptionerConfig(**{"inputs": inputs, **small, **settings})


def captioner(seed: int = 0, spread: float = 1.0, **settings: object) -> Captioner:
    """With weights large enough for words to differ."""
    torch.manual_seed(seed)
    model = Captioner(config(**settings)).eval()
    with torch.no_grad():
        model.words.weight.mul_(spread / 0.02).nan_to_num_()
        model.words.weight[0] = 0.0
        model.places.mul_(spread / 0.02)
        model.bias.normal_(0.0, 0.5 * spread)
    return model


def columns(rows: int, frames: int = 4, seed: int = 0) -> dict[str, np.ndarray]:
    """A batch as the stream delivers it; row i has i % frames + 1 frames and 1 to MAX_WORDS words."""
    rng = np.random.default_rng(seed)
    remaining = np.arange(rows) % frames + 1
    video = rng.normal(size=(rows, frames, DIM)).astype(np.float16)
    video[np.arange(frames) >= remaining[:, None]] = 0
    tokens = rng.integers(1, WORDS + 1, (rows, MAX_WORDS)).astype(np.int32)
    tokens[np.arange(MAX_WORDS) >= rng.integers(1, MAX_WORDS + 1, rows)[:, None]] = 0
    keys = np.arange(rows) + 1
    means = video.astype(np.float32).sum(axis=1) / remaining[:, None]
    return {
        "video": video,
        "video.kept": remaining,
        "video.mean": means.astype(np.float32),
        "tokens": tokens,
        "clip_key": keys,
        "video_key": keys,
        "caption_key": keys + 100,
    }


def batch(rows: int, seed: int = 0) -> FrameBatch:
    return frame_batch(columns(rows, seed=seed), ["video"])


def videos(rows: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    batches = batch(rows, seed)
    return batches.frames["video"].float(), batches.mask["video"]
