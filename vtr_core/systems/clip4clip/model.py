"""CLIP4Clip: CLIP over frames and captions, one vector per video (Luo et al. 2021), and its weights."""

from typing import assert_never

import torch
from jaxtyping import Bool, Float, Int64, UInt8
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.config.pretrained import TransformerSize
from vtr_core.data.batches import PictureBatch
from vtr_core.encoders.trainable import ClipLayers, TrainableEncoder
from vtr_core.encoders.trainable_source import load_pretrained as load_encoder
from vtr_core.nn.embeddings import TEXT, VIDEO, Embeddings
from vtr_core.nn.mamba.muse_block import MuseBlock, mean_direction
from vtr_core.nn.precision import at_least_float32
from vtr_core.systems.clip4clip.config import Clip4ClipConfig, MeanPooling, MuseFrames, SequenceTransformer
from vtr_core.systems.video_space import VideoTextModel


class Clip4Clip(VideoTextModel):
    """Videos and captions as unit vectors, whose product is their cosine. The temperature is part of the loss."""

    def __init__(self, config: Clip4ClipConfig) -> None:
        super().__init__()
        self.config, self.dim = config, config.backbone.embedding_dim
        self.clip = TrainableEncoder(config.backbone, config.inputs.num_words)
        self.temporal = _temporal(config)

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return self.clip.tokenizer.device

    def forward(self, batch: PictureBatch) -> Embeddings:
        """Both modalities of a batch; exactly 0 for a caption without a word that is known."""
        video, text = self.encode_videos(batch.frames, batch.mask), self.encode_text(batch.tokens)
        return Embeddings({TEXT: text, VIDEO: video}, {TEXT: batch.text_present, VIDEO: batch.mask.any(dim=1)})

    def encode_videos(
        self, frames: UInt8[Tensor, "rows frames 3 height width"], mask: Bool[Tensor, "rows frames"]
    ) -> Float[Tensor, "rows dim"]:
        """Unit vectors. CLIP sees only the frames of `mask`."""
        if isinstance(self.temporal, MuseBlock):
            encoded = self.clip.encode_patches(frames[mask])
        else:
            encoded = self.clip.encode_pictures(frames[mask]).unsqueeze(1)
        tokens = encoded.new_zeros((*mask.shape, *encoded.shape[1:])).index_put((mask,), encoded)
        return self.pooled(tokens, mask)

    def pooled(
        self, tokens: Float[Tensor, "rows frames tokens dim"], mask: Bool[Tensor, "rows frames"]
    ) -> Float[Tensor, "rows dim"]:
        """Unit vectors of videos from their frames' vectors, each followed by those of its patches for MUSE's block."""
        cls = tokens[:, :, 0]
        match self.temporal:
            case None:
                frames = cls
            case MuseBlock():
                frames = self.temporal(cls, tokens[:, :, 1:], mask)
            case _:
                frames = self.temporal(cls, mask)
        return mean_direction(frames, mask)

    def encode_text(self, captions: Int64[Tensor, "captions max_words"]) -> Float[Tensor, "captions dim"]:
        """Unit vectors; exactly 0 for a caption without an in-vocabulary word."""
        vectors = normalize(at_least_float32(self.clip.encode_text(captions)), dim=1)
        return torch.where(self.known(captions).unsqueeze(1), vectors, 0)

    def known(self, captions: Int64[Tensor, "captions max_words"]) -> Bool[Tensor, " captions"]:
        """Which captions have an in-vocabulary word."""
        return (captions != 0).any(dim=1)


class FrameTransformer(nn.Module):
    """seqTransf: f + transformer(f + positions), over the frames f of a video."""

    def __init__(self, dim: int, config: SequenceTransformer) -> None:
        super().__init__()
        self.positions = nn.Parameter(0.01 * torch.randn(config.max_frames, dim))
        self.transformer = ClipLayers(TransformerSize(width=dim, layers=config.layers, heads=config.heads))

    def forward(
        self, frames: Float[Tensor, "rows frames dim"], mask: Bool[Tensor, "rows frames"]
    ) -> Float[Tensor, "rows frames dim"]:
        """The changed frames; those that `mask` leaves out change nothing."""
        count = mask.shape[1]
        attended = mask[:, None, :] | torch.eye(count, dtype=torch.bool, device=mask.device)  # itself at least
        return frames + self.transformer(frames + self.positions[:count], attended)


def _temporal(config: Clip4ClipConfig) -> MuseBlock | FrameTransformer | None:
    dim, frames = config.backbone.embedding_dim, config.frames
    match frames:
        case MeanPooling():
            return None
        case SequenceTransformer():
            return FrameTransformer(dim, frames)
        case MuseFrames():
            order = frames.aggregation, frames.learner, frames.initial_gate, frames.norm
            return MuseBlock(dim, config.backbone.grid, frames.scales, *order)
        case _:
            assert_never(frames)


def load_pretrained(model: nn.Module) -> None:
    """Load what `backbone.source`, `weights` and `tokenizer` name. CheckpointError for files of another network."""
    assert isinstance(model, Clip4Clip)
    load_encoder(model.clip)
    backbone = model.config.backbone
    is_pretrained = backbone.source is not None or backbone.weights is not None
    if is_pretrained and isinstance(model.temporal, FrameTransformer):
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
