"""The captioner's losses beside masking: L_bfc, L_b and L_mcl on pair scores, and self-critical training."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Float64, Int64, Shaped
from torch import Tensor, nn

from vtr_core.config.losses import MaskSameVideo
from vtr_core.data.batches import RowKeys
from vtr_core.data.captions import InformationTable, ReferenceTable
from vtr_core.embedding.embedded_rows import evaluating
from vtr_core.losses.gmc import PairScorer
from vtr_core.losses.granularity import GranularityLosses, GranularityMargin, row_cross_entropy
from vtr_core.losses.objective import WHOLE, Share, negative_weights
from vtr_core.nn.precision import at_least_float32
from vtr_core.systems.captioning.config import CaptioningLossConfig, DecodingConfig, SelfCriticalConfig
from vtr_core.systems.captioning.decoding import begun, sample
from vtr_core.systems.captioning.model import Captioned, Captioner, Draws


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


@dataclass(frozen=True)
class Criticism:
    """Sums over a worker's draws."""

    loss: Float[Tensor, ""]
    """−λ a · log p."""
    words: int
    """Words, with end tokens."""
    cider: Float[Tensor, ""]
    """CIDEr-D."""
    captions: int


class SelfCritic:
    """L_sc = −λ Σ a · log p / number of words, over the draws of the whole batch; a: a draw's CIDEr-D less the mean of
    its row's other draws (Rennie et al. 2017; the baseline of Luo 2020, "A better variant of self-critical sequence
    training"). Without dropout the sum's gradient is, in expectation, that of the expected CIDEr-D. With it that is
    approximate: captions are drawn without dropout, and log p is that of the model with it. Rows without frames are
    left out.
    """

    def __init__(self, config: SelfCriticalConfig, references: ReferenceTable) -> None:
        self._config, self._references = config, references

    def draw(
        self,
        model: Captioner,
        frames: Shaped[Tensor, "rows frames *values"],
        mask: Bool[Tensor, "rows frames"],
        codes: Float64[Tensor, "rows samples"],
    ) -> Draws:
        """Captions from the model as it is, without dropout; codes: uniform ones, see `sample`."""
        with evaluating(model):
            words = sample(model, begun(model, frames, mask), codes, self._config.temperature, DecodingConfig())
        return Draws(words.clone(), model.end, self._config.temperature)

    def judge(self, draws: Draws, output: Captioned, clip_key: Int64[Tensor, " rows"]) -> Criticism:
        """The sums of this worker's rows; output: of the model, with log p of the draws."""
        assert output.log_p is not None
        present, samples = output.present, draws.words.shape[1]
        scores = self._scores(draws, clip_key).to(output.log_p) * present.unsqueeze(1)
        baseline = (scores.sum(dim=1, keepdim=True) - scores) / (samples - 1)
        loss = -self._config.weight * ((scores - baseline) * output.log_p).sum()
        return Criticism(loss, int((draws.words[present] != 0).sum()), scores.sum(), samples * int(present.sum()))

    def _scores(self, draws: Draws, clip_key: Int64[Tensor, " rows"]) -> Float64[Tensor, "rows samples"]:
        captions = [
            [[word for word in row if word not in (0, draws.end)] for row in drawn] for drawn in draws.words.tolist()
        ]
        return torch.from_numpy(self._references.ciders(clip_key.cpu().numpy(), captions))
