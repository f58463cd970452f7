"""The loss: of every caption and feature, how far each wrong partner is from staying behind the right one."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from tests.systems.linear.config import LogisticRankingConfig
from vtr_core.losses.objective import Share
from vtr_core.nn.embeddings import TEXT, Embeddings


class LogisticRanking(nn.Module):
    """L = Σ_m 1/(n (n − 1)) Σ_{i ≠ j} log(1 + e^{s_ij − s_ii}) + log(1 + e^{s_ji − s_ii}), s = scale · cosine.

    Over the n rows of the whole batch that have both caption and feature m; 0 for fewer than two.
    """

    def __init__(self, config: LogisticRankingConfig) -> None:
        super().__init__()
        self._scale = config.scale

    def forward(self, embeddings: Embeddings, share: Share) -> Float[Tensor, ""]:
        """The terms of the rows of a share; the shares of all workers add up."""
        features = embeddings.vectors.keys() - {TEXT}
        return torch.stack([self._of_feature(embeddings, name, share) for name in sorted(features)]).sum()

    def _of_feature(self, embeddings: Embeddings, name: str, share: Share) -> Float[Tensor, ""]:
        both = embeddings.present[TEXT] & embeddings.present[name]
        text, item = embeddings.vectors[TEXT][both], embeddings.vectors[name][both]
        scores, rows, n = self._scale * text @ item.T, share.rows(len(text)), len(text)
        own = torch.arange(rows.start, rows.stop, device=scores.device)
        right = scores.diagonal()[own].unsqueeze(1)
        terms = softplus(scores[own] - right) + softplus(scores.T[own] - right)
        wrong = own.unsqueeze(1) != torch.arange(n, device=scores.device)
        return torch.where(wrong, terms, 0).sum() / max(1, n * (n - 1))
