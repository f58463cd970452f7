"""The captioner: video and text tokens in one transformer with a causal mask on text."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from vtr_core.data.batches import FrameBatch, PictureBatch
from vtr_core.errors import ConfigError
from vtr_core.losses.gmc import Sequences
from vtr_core.nn.initialization import keep_size
from vtr_core.nn.normalization import Standardization
from vtr_core.nn.precision import at_least_float32
from vtr_core.nn.transformer import KeyValues, TransformerBlock
from vtr_core.nn.video_swin import build_swin
from vtr_core.systems.captioning.config import CaptionerConfig

_SPREAD = 0.02
"""Standard deviation of initial embeddings."""
_PLACE_SPREAD = 0.01
"""Standard deviation of initial position embeddings: smaller than that of words, because all captions share them. Time
embeddings of frames are as small relative to the frames.
"""


@dataclass(frozen=True)
class Captioned:
    """The captioner's output for a batch. Sequences are None unless requested."""

    loss: Float[Tensor, " batch"]
    """The sum of −log p over the masked tokens of each row."""
    masked: Int64[Tensor, " batch"]
    """The number of masked tokens of each row."""
    present: Bool[Tensor, " batch"]
    """Whether a row has frames."""
    videos: Sequences | None = None
    captions: Sequences | None = None


class Captioner(nn.Module):
    """p(word at [MASK] | video, the words before it).

    Text token i attends to all video tokens and to the text tokens up to i; video tokens attend to video tokens alone,
    so that their states do not depend on the text and are computed once (Li et al. 2023, "LAVENDER"; the mask of Dong
    et al. 2019). Word ids are the vocabulary's, followed by the end token and [MASK]. Raises ConfigError for invalid
    inputs.

    Initial weights: words ~ N(0, 0.02²), positions and places ~ N(0, 0.01²), the scores' bias 0; frames and times ~
    N(0, s²/in) at the size s that they should have, 1 and 0.02; the blocks' as `TransformerBlock` says; norms 1 and 0.
    """

    def __init__(self, config: CaptionerConfig) -> None:
        super().__init__()
        self.config = config
        dim, num_words = config.hidden_dim, config.inputs.num_words
        self.end, self.mask = num_words + 1, num_words + 2
        self.backbone = None if config.backbone is None else build_swin(config.backbone)
        self.standardization = Standardization(_frame_dim(config)) if config.standardize else None
        bert = config.layout == "bert"
        linear = nn.Linear(_frame_dim(config), dim)
        self.frames = nn.Sequential(linear) if bert else nn.Sequential(linear, nn.LayerNorm(dim))
        self.words = nn.Embedding(num_words + 3, dim, padding_idx=0)
        self.places = nn.Parameter(torch.randn(config.max_tokens, dim) * _PLACE_SPREAD)
        self.times = nn.Linear(1, dim)
        self.grid = None if config.side is None else nn.Parameter(torch.randn(config.side**2, dim) * _PLACE_SPREAD)
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, config.heads, config.mlp_dim, config.dropout, bert) for _ in range(config.layers)
        )
        self.norm, self.dropout = nn.Identity() if bert else nn.LayerNorm(dim), nn.Dropout(config.dropout)
        self.video_norm = nn.LayerNorm(dim) if bert else nn.Identity()
        self.word_norm = nn.LayerNorm(dim) if bert else nn.Identity()
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim)) if bert else None
        self.bias = nn.Parameter(torch.zeros(num_words + 3))
        nn.init.normal_(self.words.weight, std=_SPREAD)
        keep_size(linear)
        keep_size(self.times, out_size=_SPREAD)

    def forward(
        self,
        batch: FrameBatch | PictureBatch,
        hidden: Float[Tensor, "batch max_tokens"],
        contrasted: bool = False,
    ) -> Captioned:
        """The loss of masked words; where `contrasted` also the tokens of each modality, computed without the other.

        hidden: uniform numbers in [0, 1) that select the masked tokens, see `masked_tokens`. A row whose caption has no
        known word has neither loss nor masked tokens.
        """
        tokens = self.with_end(batch.tokens)
        masked = masked_tokens(tokens, hidden, self.config.mask_rate) & batch.text_present.unsqueeze(1)
        if isinstance(batch, PictureBatch):
            frames, known = self.video_tokens(batch.frames, batch.mask)
        else:
            frames, known = self.video_tokens(batch.frames[self.config.feature], batch.mask[self.config.feature])
        text = self.text_tokens(tokens.masked_fill(masked, self.mask))
        both, _ = self.go_on(torch.cat([frames, text], dim=1), sequence_mask(known, tokens.shape[1]), None)
        logits = self.logits(both[:, frames.shape[1] :])
        loss = cross_entropy(logits.flatten(0, 1), tokens.flatten(), reduction="none").view(tokens.shape)
        output = Captioned((loss * masked).sum(dim=1), masked.sum(dim=1), known.any(dim=1))
        if contrasted:
            video_tokens = Sequences(both[:, : frames.shape[1]], known)
            output = replace(output, videos=video_tokens, captions=self.caption(tokens))
        return output

    def with_end(self, tokens: Int64[Tensor, "rows max_words"]) -> Int64[Tensor, "rows length"]:
        """Captions with the end token, cut to `max_tokens` including it, padded to the longest."""
        words = tokens[:, : self.config.max_tokens - 1]
        counts = (words != 0).sum(dim=1)
        length = max(1, int(counts.max())) + 1 if len(words) else 2
        ended = pad(words, (0, max(0, length - words.shape[1])))[:, :length]
        return ended.scatter(1, counts.unsqueeze(1), self.end)

    def caption(self, tokens: Int64[Tensor, "rows length"]) -> Sequences:
        """Caption tokens encoded without video, with full self-attention."""
        mask = tokens != 0
        attended = mask.unsqueeze(1) | torch.eye(tokens.shape[1], dtype=torch.bool, device=tokens.device)
        return Sequences(self.go_on(self.text_tokens(tokens), attended, None)[0], mask)

    def video_tokens(
        self, frames: Shaped[Tensor, "rows frames *values"], mask: Bool[Tensor, "rows frames"]
    ) -> tuple[Float[Tensor, "rows tokens hidden"], Bool[Tensor, "rows tokens"]]:
        """Frames, average-pooled where there are more than `video_tokens`, as tokens with time embeddings, time in [0,
        1], and with a grid those of its places.

        frames: vectors (rows, frames, dim), or with a backbone pixels (rows, frames, 3, height, width) uint8.
        """
        if self.backbone is not None:
            assert self.config.backbone is not None
            frames, mask = self.backbone.places(frames, mask, self.config.backbone.frames)
        values = frames.to(self.words.weight.dtype)
        if self.standardization is not None:
            values = self.standardization(values)
        values = torch.where(mask.unsqueeze(2), values, 0)
        spots = 1 if self.grid is None else len(self.grid)
        missing = -values.shape[1] % spots  # rows of the last frame
        values, mask = pad(values, (0, 0, 0, missing)), pad(mask, (0, missing))
        if self.config.video_tokens is not None:
            values, mask = pooled_frames(values, mask, self.config.video_tokens, spots)
        frame_mask = mask.unflatten(1, (-1, spots)).any(dim=2)
        last = (frame_mask.sum(dim=1, keepdim=True) - 1).clamp(min=1)
        time = torch.arange(frame_mask.shape[1], device=mask.device) / last
        tokens = self.frames(values) + self.times(time.to(values.dtype).repeat_interleave(spots, dim=1).unsqueeze(2))
        if self.grid is not None:
            tokens = tokens + self.grid.repeat(frame_mask.shape[1], 1)
        return self.dropout(self.video_norm(tokens)), mask

    def text_tokens(self, tokens: Int64[Tensor, "rows length"], first: int = 0) -> Float[Tensor, "rows length hidden"]:
        """Embeddings of words at positions from `first` on."""
        return self.dropout(self.word_norm(self.words(tokens) + self.places[first : first + tokens.shape[1]]))

    def logits(self, states: Float[Tensor, "*rows hidden"]) -> Float[Tensor, "*rows words"]:
        """Scores of all words: products with their embeddings, plus a bias."""
        states = states if self.head is None else self.head(states)
        return at_least_float32(states @ self.words.weight.T + self.bias)

    def go_on(
        self,
        tokens: Float[Tensor, "rows length hidden"],
        attended: Bool[Tensor, "#rows length all"],
        past: list[KeyValues] | None,
    ) -> tuple[Float[Tensor, "rows length hidden"], list[KeyValues]]:
        """The states of tokens after those of `past`, and the keys and values of all."""
        layers = []
        for place, block in enumerate(self.blocks):
            assert isinstance(block, TransformerBlock)
            tokens, whole = block.go_on(tokens, attended, None if past is None else past[place])
            layers.append(whole)
        return self.norm(tokens), layers


def masked_tokens(
    tokens: Int64[Tensor, "rows length"], hidden: Float[Tensor, "rows max_tokens"], rate: float
) -> Bool[Tensor, "rows length"]:
    """Which tokens are masked: those whose number is below `rate`, and the lowest one of every caption."""
    numbers = hidden[:, : tokens.shape[1]].masked_fill(tokens == 0, torch.inf)
    lowest = numbers == numbers.min(dim=1, keepdim=True).values
    return ((numbers < rate) | lowest) & (tokens != 0)


def sequence_mask(known: Bool[Tensor, "rows frames"], length: int) -> Bool[Tensor, "rows all all"]:
    """The attention mask: frames attend to all frames, words to frames and words up to themselves; all to
    themselves.
    """
    rows, frames = known.shape
    total = frames + length
    place = torch.arange(total, device=known.device)
    is_frame = torch.cat([known, known.new_zeros(rows, length)], dim=1)
    earlier_word = (place.unsqueeze(1) >= place) & (place >= frames)
    return is_frame.unsqueeze(1) | earlier_word | (place.unsqueeze(1) == place)


def pooled_frames(
    rows: Float[Tensor, "videos rows dim"], mask: Bool[Tensor, "videos rows"], segments: int, spots: int
) -> tuple[Float[Tensor, "videos pooled dim"], Bool[Tensor, "videos pooled"]]:
    """`segment_means` over the frames, for each of the `spots` rows of a frame by itself."""
    videos = len(rows)
    apart = rows.unflatten(1, (-1, spots)).transpose(1, 2).flatten(0, 1)
    means, pooled_mask = segment_means(apart, mask.unflatten(1, (-1, spots)).transpose(1, 2).flatten(0, 1), segments)
    together = means.unflatten(0, (videos, spots)).transpose(1, 2).flatten(1, 2)
    return together, pooled_mask.unflatten(0, (videos, spots)).transpose(1, 2).flatten(1, 2)


def segment_means(
    frames: Float[Tensor, "rows frames dim"], mask: Bool[Tensor, "rows frames"], segments: int
) -> tuple[Float[Tensor, "rows segments dim"], Bool[Tensor, "rows segments"]]:
    """Means of `segments` runs of frames, frame t of n in run ⌊t · segments / n⌋; with fewer frames each is a run."""
    frames_of = mask.sum(dim=1, keepdim=True)
    place = torch.arange(mask.shape[1], device=mask.device)
    run = torch.where(frames_of > segments, place * segments // frames_of.clamp(min=1), place)
    member = (run.unsqueeze(1) == torch.arange(segments, device=mask.device).unsqueeze(1)) & mask.unsqueeze(1)
    counts = member.sum(dim=2, keepdim=True)
    return member.to(frames.dtype) @ frames / counts.clamp(min=1), counts.squeeze(2) > 0


def _frame_dim(config: CaptionerConfig) -> int:
    if config.backbone is not None:
        return config.backbone.dim
    features = config.inputs.features
    if config.feature not in features:
        held = ", ".join(features) or "none"
        raise ConfigError(f"model.feature = {config.feature!r}, the data's feature columns are: {held}")
    return features[config.feature]
