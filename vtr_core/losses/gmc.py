"""The losses of Gu and Yao 2023 on matrices of matches, and the pair scores of L_bfc by fusing sequences."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.utils.checkpoint import checkpoint

from vtr_core.config.losses import FusionConfig
from vtr_core.losses.granularity import bias_loss, margin_contrastive_loss, row_cross_entropy
from vtr_core.nn.initialization import GELU_SIZE, keep_size
from vtr_core.nn.normalization import PresentBatchNorm
from vtr_core.nn.precision import at_least_float32, full_precision
from vtr_core.nn.transformer import TransformerBlock

_SCORE_SIZE = 0.5
"""Root mean square of initial scores before their tanh, which is nearly linear there."""


@dataclass(frozen=True)
class Sequences:
    """Tokens of a batch's videos or captions; those where the mask is false are padding."""

    tokens: Float[Tensor, "rows length dim"]
    mask: Bool[Tensor, "rows length"]

    def mean(self) -> Float[Tensor, "rows dim"]:
        """The mean token of every row; 0 for a row without any."""
        mask = self.mask.unsqueeze(2)
        return (self.tokens * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)

    def pooled(self) -> "Sequences":
        """The mean token as a sequence of one."""
        return Sequences(self.mean().unsqueeze(1), self.mask.any(dim=1, keepdim=True))


@full_precision
def fusion_contrastive_loss(
    scores: Float[Tensor, "batch batch"], temperature: float, negatives: Bool[Tensor, "batch batch"] | None = None
) -> Float[Tensor, ""]:
    """L_bfc: the mean of the cross-entropies of rows and of columns of S/τ₂ (Gu and Yao 2023, Eq. 3 and 4).

    scores: of every video (rows) with every caption, matches on the diagonal. The positive is in the denominator.
    With scores in [−1, 1] the loss is at least log(1 + (batch − 1) e^(−2/τ₂)); with equal ones it is log batch.
    Where `negatives[i, j]` is false, entry [i, j] is left out, from the rows' and the columns' cross-entropies alike.
    """
    logits = scores / temperature
    turned = None if negatives is None else negatives.T
    rows, columns = row_cross_entropy(logits, 0, negatives), row_cross_entropy(logits.T, 0, turned)
    return (rows.mean() + columns.mean()) / 2


class PairScorer(nn.Module):
    """cos θ̂ of every video with every caption.

    `cosine`: that of the projected means of both sequences. `fusion`: self-attention over the concatenation of both
    sequences, an MLP on the mean token, and tanh: a score that the paper calls a cosine and that has a cosine's range.
    Pairs are fused `block_pairs` at a time and recomputed in the backward pass, so that memory holds the fused
    sequences of one block and the mean tokens of all pairs.

    A batch norm over all pairs stands before the MLP and one before tanh. Nearly all of a mean token is the same in all
    pairs, because the generation loss first teaches every state the frequencies of words; L_bfc does not change where
    all scores change alike, and falls where scores that say nothing vary less. So without the norms steps of Adam move
    what is common until all scores are at the bound of tanh, where its gradient is 0. In evaluation a pair's score does
    not depend on other pairs.

    Initial weights: the projections and the MLP keep the size of their inputs, scores begin at size 0.5 before tanh;
    the attention's as `TransformerBlock` says.
    """

    def __init__(self, dim: int, config: FusionConfig) -> None:
        super().__init__()
        self._config = config
        self.video, self.caption = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.fusion = self.fused_norm = self.head = self.score_norm = None
        if config.score == "fusion":
            self.fusion = TransformerBlock(dim, config.heads, 4 * dim, dropout=0.0)
            hidden, out = nn.Linear(dim, dim), nn.Linear(dim, 1, bias=False)
            for layer in (self.video, self.caption, hidden):
                keep_size(layer)
            keep_size(out, in_size=GELU_SIZE)
            self.head = nn.Sequential(hidden, nn.GELU(), out)
            self.fused_norm, self.score_norm = PresentBatchNorm(dim), PresentBatchNorm(1)
            nn.init.constant_(self.score_norm.weight, _SCORE_SIZE)

    def forward(self, videos: Sequences, captions: Sequences) -> Float[Tensor, "videos captions"]:
        """The scores, in [−1, 1]."""
        match self._config.score:
            case "cosine":
                pooled = self.video(videos.mean()), self.caption(captions.mean())
                return _cosines(*pooled)
            case "fusion":
                if self._config.pooled:
                    videos, captions = videos.pooled(), captions.pooled()
                videos = Sequences(self.video(videos.tokens), videos.mask)
                captions = Sequences(self.caption(captions.tokens), captions.mask)
                fused = torch.cat([self._block(videos, captions, pairs) for pairs in self._blocks(videos, captions)])
                present = videos.mask.any(dim=1).unsqueeze(1) & captions.mask.any(dim=1)
                return self._scores(fused, present.flatten()).view(present.shape)
            case _:
                assert_never(self._config.score)

    def _blocks(self, videos: Sequences, captions: Sequences) -> Iterator[Int64[Tensor, " pairs"]]:
        pairs = torch.arange(len(videos.tokens) * len(captions.tokens), device=videos.tokens.device)
        yield from pairs.split(self._config.block_pairs)

    def _block(self, videos: Sequences, captions: Sequences, pairs: Int64[Tensor, " pairs"]) -> Tensor:
        arrays = (videos.tokens, videos.mask, captions.tokens, captions.mask, pairs)
        if len(videos.tokens) * len(captions.tokens) <= self._config.block_pairs:
            return self._fused(*arrays)
        fused = checkpoint(self._fused, *arrays, use_reentrant=False, preserve_rng_state=False)
        assert isinstance(fused, Tensor)
        return fused

    def _fused(
        self,
        videos: Float[Tensor, "videos frames dim"],
        video_mask: Bool[Tensor, "videos frames"],
        captions: Float[Tensor, "captions words dim"],
        caption_mask: Bool[Tensor, "captions words"],
        pairs: Int64[Tensor, " pairs"],
    ) -> Float[Tensor, "pairs dim"]:
        """The mean token of every pair."""
        assert self.fusion is not None
        video, caption = pairs // len(captions), pairs % len(captions)
        tokens = torch.cat([videos[video], captions[caption]], dim=1)
        mask = torch.cat([video_mask[video], caption_mask[caption]], dim=1)
        attends = mask.unsqueeze(1) | torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
        return Sequences(self.fusion(tokens, attends), mask).mean()

    def _scores(self, fused: Float[Tensor, "pairs dim"], present: Bool[Tensor, " pairs"]) -> Float[Tensor, " pairs"]:
        assert self.fused_norm is not None
        assert self.head is not None
        assert self.score_norm is not None
        with torch.autocast(fused.device.type, enabled=False):  # half precision is coarse near ±1
            scores = self.head(self.fused_norm(at_least_float32(fused), present))
            return torch.tanh(self.score_norm(scores, present)).squeeze(1)


@full_precision
def _cosines(
    videos: Float[Tensor, "videos dim"], captions: Float[Tensor, "captions dim"]
) -> Float[Tensor, "videos captions"]:
    return normalize(videos, dim=1) @ normalize(captions, dim=1).T


__all__ = ["bias_loss", "fusion_contrastive_loss", "margin_contrastive_loss"]
