"""The captioner's losses beside masking: L_bfc, L_b and L_mcl on pair scores."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vtr_core.config.losses import MaskSameVideo
from vtr_core.data.batches import RowKeys
from vtr_core.data.captions import InformationTable
from vtr_core.losses.gmc import PairScorer
from vtr_core.losses.granularity import GranularityLosses, GranularityMargin, row_cross_entropy
from vtr_core.losses.objective import WHOLE, Share, negative_weights
from vtr_core.nn.precision import at_least_float32
from vtr_core.systems.captioning.config import CaptioningLossConfig


class CaptioningObjective(nn.Module):
    """L_bfc + L_b + L_mcl, as configured (Gu and Yao 2023, Eq. 7); L_gen is computed by the model.

    The pair scorer is trained here and is not part of the captioner: it is used in training only.
    """

    def __init__(self, config: CaptioningLossConfig, dim: int, information: InformationTable | None) -> None:
        super().__init__()
        self._config = config
        margin = config.granularity_margin
        self.scorer = PairScorer(dim, config.score) if config.contrasts else None
        self.margin = None if margin is None or information is None else GranularityMargin(margin, information)

    def contrast(
        self,
        scores: Float[Tensor, "batch batch"],
        present: Bool[Tensor, " batch"],
        keys: RowKeys,
        step: int,
        share: Share = WHOLE,
    ) -> GranularityLosses:
        """The terms "fusion", "bias" and "margin" of the share; scores: of every video (rows) with every caption.

        present: rows with frames and an in-vocabulary word; other rows are ignored. With fewer than two pairs the terms
        are 0. Rows of the same video or with the same words are no negatives of each other.
        """
        pairs, keys = at_least_float32(scores[present][:, present]), keys[present]
        own, nothing = share.rows(len(pairs)), scores.sum() * 0
        if len(pairs) < 2:
            return GranularityLosses({name: nothing for name in ("fusion",) if self._config.fusion})
        block = slice(own.start, own.stop)
        terms = {"fusion": nothing + self._fusion(pairs, keys, block)} if self._config.fusion else {}
        if self.margin is None:
            return GranularityLosses(terms)
        margin = self.margin(pairs[block], keys, block, step)
        return GranularityLosses({**terms, **margin.by_term}, margin.metrics)

    def _fusion(self, pairs: Float[Tensor, "items items"], keys: RowKeys, block: slice) -> Float[Tensor, ""]:
        """The share's rows and columns of `fusion_contrastive_loss`."""
        with torch.autocast(pairs.device.type, enabled=False):
            logits = pairs / self._config.score.temperature
            negatives = negative_weights(keys, block, MaskSameVideo(), pairs.dtype) > 0
            rows = row_cross_entropy(logits[block], block.start, negatives)
            columns = row_cross_entropy(logits.T[block], block.start, negatives)
            return self._config.score.weight * (rows.sum() + columns.sum()) / (2 * len(pairs))
