"""Contrastive losses of a similarity matrix whose diagonal holds the matching pairs.

In every loss `similarity[i, j]` compares row i of one modality with row j of the other, and `negatives[i, j]` false
takes [i, j] out of the negatives; the diagonal always stays. Losses are float32 also under autocast, and float64 for
float64 similarities.
Training computes the same losses from embeddings, in blocks and shares: `vtr_core.losses.objectives.objective`.
"""

from vtr_core.losses.objectives.info_nce import info_nce
from vtr_core.losses.objectives.masked_margin_softmax import masked_margin_softmax
from vtr_core.losses.objectives.max_margin_ranking import max_margin_ranking
from vtr_core.losses.objectives.mil_nce import mil_nce
from vtr_core.losses.objectives.sigmoid import sigmoid_contrastive

__all__ = ["info_nce", "masked_margin_softmax", "max_margin_ranking", "mil_nce", "sigmoid_contrastive"]
