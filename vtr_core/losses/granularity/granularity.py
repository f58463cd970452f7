"""Granularity bias as the margin: L_b and L_mcl of a batch, in shares of workers, by their schedule."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.config.losses.granularity import GranularityMarginConfig
from vtr_core.config.losses.same_video import MaskSameVideo
from vtr_core.data.batches.rows import RowKeys
from vtr_core.data.captions.information import InformationTable
from vtr_core.losses.granularity.bias import BiasExtractor, row_cross_entropy
from vtr_core.losses.granularity.margin_contrastive import margin_terms
from vtr_core.losses.groups import in_order
from vtr_core.losses.negatives import negative_weights
from vtr_core.losses.share import WHOLE, Share
from vtr_core.nn.embeddings import TEXT, VIDEO, Embeddings
from vtr_core.nn.precision import at_least_float32


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


def granularity_margin(
    config: GranularityMarginConfig | None, information: InformationTable | None
) -> GranularityMargin | None:
    """The losses that `config` asks for, on the information content of the training captions; None for None."""
    if config is None:
        return None
    assert information is not None, "a margin needs information"
    return GranularityMargin(config, information)


def embedding_margin(
    margin: GranularityMargin | None, embeddings: Embeddings, keys: RowKeys, step: int, share: Share = WHOLE
) -> GranularityLosses:
    """The share's terms for captions and videos in a joint space, compared by the cosine; nothing without a margin.

    Videos are the modality "video", or the first other one where there is none. Rows that lack one of the two are
    skipped; with fewer than two pairs there are no terms.
    """
    if margin is None:
        return GranularityLosses()
    seen = VIDEO if VIDEO in embeddings.vectors else in_order(embeddings.vectors)[1]
    pairs = embeddings.present[TEXT] & embeddings.present[seen]
    if int(pairs.sum()) < 2:
        return GranularityLosses()
    text, video = (at_least_float32(embeddings.vectors[name][pairs]) for name in (TEXT, seen))
    own = share.rows(len(text))
    block = slice(own.start, own.stop)
    with torch.autocast(text.device.type, enabled=False):
        similarity = normalize(video[block], dim=1) @ normalize(text, dim=1).T
    return margin(similarity, keys[pairs], block, step)


def correlation(a: Float[Tensor, " rows"], b: Float[Tensor, " rows"]) -> Float[Tensor, ""]:
    """Pearson's correlation; 0 where one of them does not vary."""
    a, b = a - a.mean(), b - b.mean()
    scale = (a.square().sum() * b.square().sum()).sqrt()
    return torch.where(scale > 0, (a * b).sum() / scale.clamp(min=1e-300), 0.0)
