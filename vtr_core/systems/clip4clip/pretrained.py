"""Pretrained weights of CLIP4Clip: CLIP's; the transformer over frames begins with those of CLIP's text transformer."""

import torch
from torch import nn

from vtr_core.backbones.clip_weights import load_clip
from vtr_core.systems.clip4clip.model import Clip4Clip, FrameTransformer


def load_pretrained(model: nn.Module) -> None:
    """Load `backbone.weights`, if there are any. CheckpointError for a file of another network."""
    assert isinstance(model, Clip4Clip)
    weights = model.config.backbone.weights
    if weights is None:
        return
    load_clip(model.clip, weights)
    if isinstance(model.temporal, FrameTransformer):
        _from_text(model.temporal, model)


def _from_text(temporal: FrameTransformer, model: Clip4Clip) -> None:
    """Layers and positions of the text transformer, of which there are enough and as wide (Luo et al. 2021)."""
    given, text = temporal.transformer.resblocks, model.clip.transformer.resblocks
    positions = min(len(temporal.positions), len(model.clip.positional_embedding))
    if temporal.positions.shape[1] != model.clip.positional_embedding.shape[1]:
        return
    with torch.no_grad():
        temporal.positions[:positions] = model.clip.positional_embedding[:positions]
        for layer, first in zip(given, text, strict=False):
            layer.load_state_dict(first.state_dict())
