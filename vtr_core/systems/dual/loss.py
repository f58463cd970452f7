"""The dual encoder's objective on a whole batch, in shares of workers, with terms of the concept space."""

from dataclasses import dataclass
from typing import assert_never

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from vtr_core.config.data_sets import ConceptSimilarity
from vtr_core.config.losses import MaskSameVideo
from vtr_core.data.batches import RowKeys
from vtr_core.losses.objective import WHOLE, Share, is_match, negative_weights
from vtr_core.losses.ranking import triplet_terms
from vtr_core.nn.embeddings import TEXT, VIDEO, DualEmbeddings, Embeddings
from vtr_core.nn.precision import at_least_float32, full_precision
from vtr_core.similarity import Similarity, cosine, generalized_jaccard
from vtr_core.systems.dual.config import DualTripletConfig


@full_precision
def concept_terms(
    scores: Float[Tensor, "rows concepts"], labels: Float[Tensor, "rows concepts"]
) -> Float[Tensor, " rows"]:
    """−mean_k [y_k log σ(h_k) + (1 − y_k) log(1 − σ(h_k))] of each row (thesis, Eq. 3.12, there a sum over k).

    labels: soft ones in [0, 1]. Computed from the scores h, finite whatever their size.
    """
    return binary_cross_entropy_with_logits(scores, labels.to(scores), reduction="none").mean(dim=1)


@dataclass(frozen=True)
class DualLosses:
    """The total loss and its terms, all of the share asked for.

    by_term: "latent", "concept", "bce_video" and "bce_text", those that the model and the loss have.
    ranges: lowest and highest similarity of the share's rows in the latent and in the concept space, detached; (∞, −∞)
    where there is none, as in a space that the model does not have.
    """

    total: Float[Tensor, ""]
    by_term: dict[str, Float[Tensor, ""]]
    ranges: Float[Tensor, "2 2"]


class DualObjective(nn.Module):
    """L = L_lat + L_con, with L_lat a triplet loss on cosines, L_con one on the concepts' similarity, plus B · BCE.

    The triplet losses are sums over the rows that have both modalities, in both directions: `hardest_negative_triplet`.
    BCE = mean over the videos + mean over the captions of `concept_terms`; B is `concept_weight`, or the number of rows
    averaged. Concepts are compared by generalised Jaccard of σ(h) or by cosine of h. A row's negatives are the rows of
    other videos with another caption text; with compat "hybrid_space" all other rows. Rows that lack a modality take no
    part where it is needed. Losses are float32 under autocast, float64 of float64 embeddings. Source: thesis, Eq. 3.9
    to 3.15.
    """

    def __init__(self, config: DualTripletConfig, concept_similarity: ConceptSimilarity) -> None:
        super().__init__()
        self._config, self._concept_similarity = config, concept_similarity

    def forward(
        self,
        embeddings: DualEmbeddings,
        labels: Float[Tensor, "batch concepts"] | None,
        keys: RowKeys,
        share: Share = WHOLE,
    ) -> DualLosses:
        """The part `share` of the whole batch's loss. labels: of each row's video, where there is a concept space."""
        latent, concept = embeddings.latent, embeddings.concept
        by_term: dict[str, Tensor] = {}
        ranges = torch.tensor([[torch.inf, -torch.inf]] * 2, device=keys.clip.device)
        with torch.autocast(keys.clip.device.type, enabled=False):
            if latent is not None:
                by_term["latent"], ranges[0] = self._triplets(latent, cosine, keys, share)
            if concept is not None:
                assert labels is not None, "a concept space needs labels"
                ranked, ranges[1] = self._triplets(concept, self.compared(), keys, share)
                if self._config.ranks_concepts:
                    by_term["concept"] = ranked
                for modality in (VIDEO, TEXT):
                    by_term[f"bce_{modality}"] = self._detection(concept, modality, labels, share)
        return DualLosses(torch.stack(list(by_term.values())).sum(), by_term, ranges)

    @property
    def margin(self) -> float:
        """The margin of a match over the hardest negative."""
        return self._config.margin

    def compared(self) -> Similarity:
        """The similarity of concept scores."""
        match self._concept_similarity:
            case "jaccard":
                return jaccard_of_scores
            case "cosine":
                return cosine
            case _:
                assert_never(self._concept_similarity)

    def _triplets(
        self, space: Embeddings, compared: Similarity, keys: RowKeys, share: Share
    ) -> tuple[Float[Tensor, ""], Float[Tensor, " 2"]]:
        """A space's triplet loss, and its lowest and highest similarity."""
        rows, text, video = _matched(space)
        own = share.rows(len(text))
        loss = text[:0].sum() + video[:0].sum()  # part of the graph also where the share has no rows
        if not own:
            return loss, text.new_tensor([torch.inf, -torch.inf])
        block = slice(own.start, own.stop)
        of_videos, of_texts = compared(video[block], text), compared(text[block], video)
        negatives, matches = self._negatives(keys[rows], of_videos, block), of_videos.diagonal(block.start)
        for scores in (of_videos, of_texts):
            terms = triplet_terms(scores, negatives, matches, self._config.margin, self._config.negatives)
            loss = loss + terms.sum()
        return loss, torch.stack([of_videos.detach().min(), of_videos.detach().max()])

    def _negatives(
        self, keys: RowKeys, scores: Float[Tensor, "block items"], block: slice
    ) -> Bool[Tensor, "block items"]:
        unmatched = ~is_match(scores, block.start)
        if self._config.compat == "hybrid_space":
            return unmatched
        return unmatched & (negative_weights(keys, block, MaskSameVideo(), scores.dtype) > 0)

    def _detection(
        self, concept: Embeddings, modality: str, labels: Float[Tensor, "batch concepts"], share: Share
    ) -> Float[Tensor, ""]:
        """B · mean of the detection terms over all rows that have the modality, summed over the share's rows."""
        rows = concept.present[modality]
        scores = at_least_float32(concept.vectors[modality][rows])
        own = share.rows(len(scores))
        terms = concept_terms(scores[own.start : own.stop], labels[rows][own.start : own.stop])
        weight = self._config.concept_weight
        return terms.sum() if weight is None else weight * terms.sum() / max(len(scores), 1)


def _matched(
    space: Embeddings,
) -> tuple[Bool[Tensor, " batch"], Float[Tensor, "pairs dim"], Float[Tensor, "pairs dim"]]:
    """The rows that have both modalities, and their texts and videos."""
    rows = space.present[TEXT] & space.present[VIDEO]
    text, video = (at_least_float32(space.vectors[name][rows]) for name in (TEXT, VIDEO))
    return rows, text, video


def jaccard_of_scores(a: Float[Tensor, "queries concepts"], b: Float[Tensor, "items concepts"]) -> Tensor:
    """`generalized_jaccard` of the probabilities σ(h) of scores h."""
    return generalized_jaccard(torch.sigmoid(a), torch.sigmoid(b))
