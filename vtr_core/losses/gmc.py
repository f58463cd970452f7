"""The losses of granularity bias as the margin (Gu and Yao 2023), on matrices whose diagonal holds the matches.

Rows are videos, columns captions. Training computes the same losses in shares of workers:
`vtr_core.losses.granularity.granularity` and `vtr_core.systems.captioning.loss`.
"""

from vtr_core.losses.fusion import fusion_contrastive_loss
from vtr_core.losses.granularity.bias import bias_loss
from vtr_core.losses.granularity.margin_contrastive import margin_contrastive_loss

__all__ = ["bias_loss", "fusion_contrastive_loss", "margin_contrastive_loss"]
