"""`clip-tokens`: all tokens of CLIP's vision transformer, projected to its joint space."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, UInt8

from vtr_core.data.sources.clip.backbone import ClipBackbone

MODEL = "ViT-B-32-quickgelu"
_AT_ONCE = 32


def load(weights: str | None, device: str) -> "TokenExtractor":
    """The extractor from (frames, 224, 224, 3) to (frames, 50 · 512), by open_clip with a weights file."""
    from vtr_core.data.sources.clip.open_clip_loading import load_backbone

    return TokenExtractor(load_backbone(MODEL, weights or "openai", device))


@dataclass(frozen=True)
class TokenExtractor:
    """One row per frame: its [CLS] token, then its patch tokens in row-major order."""

    backbone: ClipBackbone

    def __call__(self, values: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "rows dim"]:
        """The rows of the frames, computed in batches."""
        parts = []
        for first in range(0, len(values), _AT_ONCE):
            images = values[first : first + _AT_ONCE].transpose(0, 3, 1, 2).astype(np.float32) / 255
            tokens = self.backbone.tokens(images)
            parts.append(tokens.reshape(len(tokens), -1))
        return np.concatenate(parts)
