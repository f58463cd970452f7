"""Granularity bias of captions as the margin (Gu and Yao 2023): the bias extractor, L_b and L_mcl."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.config.losses import GranularityMarginConfig, MarginCompat, MaskSameVideo
from vtr_core.data.batches import RowKeys
from vtr_core.data.captions import InformationTable
from vtr_core.losses.objective import is_match, negative_weights
from vtr_core.nn.precision import at_least_float32, full_precision

SENTENCE_DECIMALS, VIDEO_DECIMALS = 2, 1
"""Decimals of the bins: values with the same rounding form a bin."""


def bins(values: Float64[np.ndarray, " values"], decimals: int) -> Float64[np.ndarray, " bins"]:
    """The distinct rounded values, ascending."""
    return np.unique(np.round(values, decimals))


def nearest_bin(
    values: Float64[np.ndarray, " rows"], edges: Float64[np.ndarray, " bins"]
) -> Int64[np.ndarray, " rows"]:
    """The index of the bin nearest to each value; ties go to the lower bin."""
    above = np.clip(np.searchsorted(edges, values), 1, max(1, len(edges) - 1))
    above = np.minimum(above, len(edges) - 1)
    below = np.maximum(above - 1, 0)
    return np.where(np.abs(values - edges[below]) <= np.abs(edges[above] - values), below, above).astype(np.int64)


@full_precision
def bias_loss(
    similarity: Float[Tensor, "batch batch"], temperature: float, negatives: Bool[Tensor, "batch batch"] | None = None
) -> Float[Tensor, ""]:
    """L_b = mean over videos i of −log softmax_j(cos ξ̂_ij / τ₁) at j = i (Gu and Yao 2023, Eq. 2).

    similarity: cos ξ̂ of every video's bin (rows) with every caption's. Entries with `negatives` false are left out.
    """
    return row_cross_entropy(similarity / temperature, 0, negatives).mean()


def row_cross_entropy(
    logits: Float[Tensor, "block items"], first: int, negatives: Bool[Tensor, "block items"] | None
) -> Float[Tensor, " block"]:
    """−log softmax of every row at its match, which is in column `first` + row.

    Entries that are neither the match nor negatives are left out.
    """
    matches = is_match(logits, first)
    counted = logits if negatives is None else logits.masked_fill(~(negatives | matches), -torch.inf)
    return counted.logsumexp(dim=1) - logits[matches]


class BiasExtractor(nn.Module):
    """ŷ_b(v, t) = cos(ψ(v), φ(t)) = cos ξ̂, with an embedding for every bin of each modality (Gu and Yao 2023, Eq. 1).

    A caption's bin is its value rounded to 2 decimals, a video's the mean over its captions rounded to 1.
    """

    def __init__(self, table: InformationTable, config: GranularityMarginConfig) -> None:
        super().__init__()
        self._table = table
        self._sentence_bins = bins(table.value, SENTENCE_DECIMALS)
        self._video_bins = bins(table.video_value, VIDEO_DECIMALS)
        self.sentences = nn.Embedding(len(self._sentence_bins), config.codebook_dim)
        self.videos = nn.Embedding(len(self._video_bins), config.codebook_dim)

    def values(
        self, video_key: Int64[Tensor, " rows"], caption_key: Int64[Tensor, " rows"]
    ) -> Float64[Tensor, " rows"]:
        """The binned value of each row's caption; for one that is not in the corpus, that of the corpus's mean."""
        return torch.from_numpy(self._sentence_bins[self._sentence(video_key, caption_key)]).to(video_key.device)

    def forward(
        self, video_key: Int64[Tensor, " rows"], caption_key: Int64[Tensor, " rows"]
    ) -> tuple[Float[Tensor, "rows dim"], Float[Tensor, "rows dim"]]:
        """ψ of each row's video and φ of its caption, not normalised."""
        device = video_key.device
        values = self._table.of_videos(video_key.cpu().numpy())
        video = nearest_bin(_known(values, self._table.video_value), self._video_bins)
        sentence = self._sentence(video_key, caption_key)
        return (
            self.videos(torch.from_numpy(video).to(device)),
            self.sentences(torch.from_numpy(sentence).to(device)),
        )

    def _sentence(
        self, video_key: Int64[Tensor, " rows"], caption_key: Int64[Tensor, " rows"]
    ) -> Int64[np.ndarray, " rows"]:
        values = self._table.of_captions(video_key.cpu().numpy(), caption_key.cpu().numpy())
        return nearest_bin(_known(values, self._table.value), self._sentence_bins)


def _known(values: Float64[np.ndarray, " rows"], corpus: np.ndarray) -> Float64[np.ndarray, " rows"]:
    """The values with NaN, which marks rows that are not in the corpus, replaced by the corpus's mean."""
    return np.where(np.isnan(values), np.mean(corpus), values)


EPSILON = 1e-8
"""Added under square roots to keep gradients finite at cosines of ±1."""


def margined_cosine(
    cosine: Float[Tensor, " pairs"], bias: Float[Tensor, " pairs"], detach: bool = True
) -> Float[Tensor, " pairs"]:
    """cos(θ̂ + M) of cos θ̂ and cos ξ̂, with M = min(ξ̂, π − θ̂) (Gu and Yao 2023, Eq. 6).

    cos decreases on [0, π], so cos M = max(cos ξ̂, −cos θ̂), and with s = cos θ̂ the result is cos(θ̂ + M) =
    s cos M − √(1 − s² + ε) · √(1 − cos² M + ε). No angle is computed, whose derivative would be infinite at s = ±1.
    detach: M is a constant for the gradient.
    """
    margin = torch.maximum(bias, -cosine)
    if detach:
        margin = margin.detach()
    return cosine * margin - _sine(cosine) * _sine(margin)


def _sine(cosine: Float[Tensor, " pairs"]) -> Float[Tensor, " pairs"]:
    return ((1 - cosine**2).clamp(min=0) + EPSILON).sqrt()


def published_cosine(
    cosine: Float[Tensor, " pairs"], bias: Float[Tensor, " pairs"], detach: bool = True
) -> Float[Tensor, " pairs"]:
    """cos(θ̂ + M) with M = 1 − σ(b), b the dot product of the bins' embeddings, not normalised.

    This is BC loss (Zhang et al. 2022) as in its published code. M is at most 1, and is not bounded by π − θ̂.
    """
    margin = 1 - torch.sigmoid(bias)
    if detach:
        margin = margin.detach()
    return cosine * margin.cos() - _sine(cosine) * margin.sin()


@full_precision
def margin_contrastive_loss(
    similarity: Float[Tensor, "batch batch"],
    bias: Float[Tensor, " batch"],
    temperature: float,
    negatives: Bool[Tensor, "batch batch"] | None = None,
    compat: MarginCompat = "none",
    detach: bool = True,
) -> Float[Tensor, ""]:
    """L_mcl, the mean of `margin_terms` over all videos.

    similarity: cos θ̂ of every video (rows) with every caption, matches on the diagonal; bias: cos ξ̂ of the matches,
    or with compat "bcloss" the dot product of their bins' embeddings.
    """
    return margin_terms(similarity, bias, 0, temperature, negatives, compat, detach).mean()


@full_precision
def margin_terms(
    similarity: Float[Tensor, "block items"],
    bias: Float[Tensor, " block"],
    first: int,
    temperature: float,
    negatives: Bool[Tensor, "block items"] | None = None,
    compat: MarginCompat = "none",
    detach: bool = True,
) -> Float[Tensor, " block"]:
    """−log e^{cos(θ̂ᵢᵢ + Mᵢ)/τ₃} / (e^{cos(θ̂ᵢᵢ + Mᵢ)/τ₃} + Σ_{j ≠ i} e^{cos θ̂ᵢⱼ/τ₃}) of the videos i (Eq. 5).

    The match of row k is in column `first` + k. compat "bcloss": see `published_cosine`; in the denominator the
    positive has no margin.
    """
    matches = is_match(similarity, first)
    positive = (published_cosine if compat == "bcloss" else margined_cosine)(similarity[matches], bias, detach)
    if compat == "bcloss":
        without = row_cross_entropy(similarity / temperature, first, negatives)
        return without + (similarity[matches] - positive) / temperature
    with_margin = torch.where(matches, positive.unsqueeze(1), similarity)
    return row_cross_entropy(with_margin / temperature, first, negatives)


@dataclass(frozen=True)
class GranularityLosses:
    """The share's terms ("bias", "margin"), and metrics to log, equal on all workers."""

    by_term: Mapping[str, Float[Tensor, ""]] = field(default_factory=dict)
    metrics: Mapping[str, Float[Tensor, ""]] = field(default_factory=dict)


class GranularityMargin(nn.Module):
    """L_b until `warmup_steps`, then weight · L_mcl, whose margin is the extractor's angle ξ̂.

    Source: Gu and Yao 2023, sections 2.1 and 2.3. After the warm-up the extractor is frozen and gets no gradient;
    without `freeze_bias`, L_b stays part of the loss beside L_mcl. Rows of the same video or with the same words are no
    negatives of each other.
    """

    def __init__(self, config: GranularityMarginConfig, table: InformationTable) -> None:
        super().__init__()
        self._config = config
        self.extractor = BiasExtractor(table, config)

    def forward(
        self, similarity: Float[Tensor, "block items"], keys: RowKeys, block: slice, step: int
    ) -> GranularityLosses:
        """The terms of the videos of `block`, divided by the number of items.

        similarity: cos θ̂ of these videos with the captions of all items; keys: of all items.
        """
        config, items = self._config, len(keys.video)
        warm = step < config.warmup_steps
        with torch.autocast(keys.video.device.type, enabled=False):
            similarity = at_least_float32(similarity)
            with torch.set_grad_enabled(torch.is_grad_enabled() and (warm or not config.freeze_bias)):
                video, sentence = self.extractor(keys.video, keys.caption)
                unit = normalize(video, dim=1), normalize(sentence, dim=1)
                bias = unit[0][block] @ unit[1].T
            negatives = negative_weights(keys, block, MaskSameVideo(), similarity.dtype) > 0
            terms: dict[str, Tensor] = {}
            if warm or not config.freeze_bias:
                terms["bias"] = row_cross_entropy(bias / config.bias_temperature, block.start, negatives).sum() / items
            if not warm:
                compared = (video, sentence) if config.compat == "bcloss" else unit
                matched = (compared[0] * compared[1]).sum(dim=1)[block]
                terms["margin"] = config.weight * self._margin(similarity, matched, negatives, block) / items
            return GranularityLosses(terms, self._health(*unit, keys))

    def _margin(
        self,
        similarity: Float[Tensor, "block items"],
        bias: Float[Tensor, " block"],
        negatives: Bool[Tensor, "block items"],
        block: slice,
    ) -> Float[Tensor, ""]:
        config, first, bias = self._config, block.start, bias.to(similarity.dtype)
        return margin_terms(similarity, bias, first, config.temperature, negatives, config.compat, config.detach).sum()

    @torch.no_grad()
    def _health(
        self, video: Float[Tensor, "items dim"], sentence: Float[Tensor, "items dim"], keys: RowKeys
    ) -> dict[str, Tensor]:
        """The mean angle ξ̂ of the pairs, and its correlation with the value of the caption's bin.

        If tail captions have the larger margin, it is below 0 for leave_one_out and corpus, and above 0 for idf.
        """
        angle = torch.acos((video * sentence).sum(dim=1).clamp(-1, 1)).double()
        values = self.extractor.values(keys.video, keys.caption)
        return {"margin": angle.mean(), "margin_bin_correlation": correlation(angle, values)}


def correlation(a: Float[Tensor, " rows"], b: Float[Tensor, " rows"]) -> Float[Tensor, ""]:
    """Pearson's correlation; 0 where one of them does not vary."""
    a, b = a - a.mean(), b - b.mean()
    scale = (a.square().sum() * b.square().sum()).sqrt()
    return torch.where(scale > 0, (a * b).sum() / scale.clamp(min=1e-300), 0.0)
