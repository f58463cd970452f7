"""The bias extractor: similarity of a caption and a video from their information content alone."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor, nn

from vtr_core.config.losses.granularity import GranularityMarginConfig
from vtr_core.data.captions.information import InformationTable
from vtr_core.losses.blocks import is_match
from vtr_core.nn.precision import full_precision

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
    kept = logits if negatives is None else logits.masked_fill(~(negatives | matches), -torch.inf)
    return kept.logsumexp(dim=1) - logits[matches]


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
