"""Pretrained weights of CLIP4Clip: the encoder's, with which the transformer over frames begins too."""

import torch
from torch import Tensor, nn

from vtr_core.backbones.clip_weights import renamed_layers, transformers_state
from vtr_core.encoders.trainable import TrainableEncoder
from vtr_core.encoders.trainable_source import load_pretrained as load_encoder
from vtr_core.systems.clip4clip.model import Clip4Clip, FrameTransformer


def load_pretrained(model: nn.Module) -> None:
    """Load what `backbone.source`, `weights` and `tokenizer` name. CheckpointError for files of another network."""
    assert isinstance(model, Clip4Clip)
    load_encoder(model.clip)
    backbone = model.config.backbone
    given = backbone.source is not None or backbone.weights is not None
    if given and isinstance(model.temporal, FrameTransformer):
        _begin_with_text(model.temporal, model.clip)


def _begin_with_text(temporal: FrameTransformer, clip: TrainableEncoder) -> None:
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


def current_names(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """A checkpoint's weights under today's names: those of earlier versions had OpenAI's names."""
    if not any(name.startswith("clip.visual.") for name in weights):
        return weights
    clip = {f"clip.model.{name}": value for name, value in transformers_state(weights).items()}
    temporal = {name: value for name, value in weights.items() if not name.startswith("clip.")}
    begin = "temporal.transformer."
    layers = {name.removeprefix(begin): value for name, value in temporal.items() if name.startswith(begin)}
    rest = {name: value for name, value in temporal.items() if not name.startswith(begin)}
    renamed = {f"{begin}{name}": value for name, value in renamed_layers(layers).items()}
    return {**clip, **rest, **renamed, "clip.tokenizer": torch.zeros(0, dtype=torch.uint8)}
