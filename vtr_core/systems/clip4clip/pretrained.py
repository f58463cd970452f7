"""Pretrained weights of CLIP4Clip: the encoder's, with which the transformer over frames begins too."""

import torch
from torch import nn

from vtr_core.encoders.joint_model import JointModel
from vtr_core.encoders.joint_source import load_pretrained as load_encoder
from vtr_core.systems.clip4clip.model import Clip4Clip, FrameTransformer


def load_pretrained(model: nn.Module) -> None:
    """Load what `backbone.source`, `weights` and `tokenizer` name. CheckpointError for files of another network."""
    assert isinstance(model, Clip4Clip)
    load_encoder(model.clip)
    backbone = model.config.backbone
    given = backbone.source is not None or backbone.weights is not None
    if given and isinstance(model.temporal, FrameTransformer):
        _begin_with_text(model.temporal, model.clip)


def _begin_with_text(temporal: FrameTransformer, clip: JointModel) -> None:
    """Layers and positions of CLIP's text transformer, of which there are enough and as wide (Luo et al. 2021).

    Another encoder's layers have other parts; over them the transformer begins with the weights that were drawn.
    """
    if clip.model.config.model_type != "clip":
        return
    text = clip.model.text_model
    positions = text.embeddings.position_embedding.weight
    if temporal.positions.shape[1] != positions.shape[1]:
        return
    count = min(len(temporal.positions), len(positions))
    with torch.no_grad():
        temporal.positions[:count] = positions[:count]
        for layer, first in zip(temporal.transformer.layers, text.encoder.layers, strict=False):
            layer.load_state_dict(first.state_dict())
