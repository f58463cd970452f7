"""Outputs of joint-space models: embeddings, normalised where configured, exactly 0 where a modality is missing."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.data.batches.batch import ClipBatch
from vtr_core.nn.embeddings import TEXT, Embeddings
from vtr_core.nn.precision import at_least_float32


def joint_embeddings(vectors: Mapping[str, Float[Tensor, "_ dim"]], batch: ClipBatch, normalized: bool) -> Embeddings:
    """The `Embeddings` of a batch from its modalities' vectors in the joint space.

    vectors: one per row; those of text in the order of `captions(batch)`, the rows' own captions before the candidates.
    normalized: each vector is L2-normalised.
    The vector of a missing modality was computed from zeros and is set to exactly 0 here: every parameter stays in the
    autograd graph, but a missing modality contributes to no loss. The result is float32 or more, also under autocast.
    """
    finished = {name: at_least_float32(found) for name, found in vectors.items()}
    if normalized:
        finished = {name: normalize(found, dim=1) for name, found in finished.items()}
    text = finished[TEXT]
    own = {**finished, TEXT: text[: batch.rows]}
    present = {name: batch.text_present if name == TEXT else batch.present[name] for name in own}
    return Embeddings(
        vectors={name: torch.where(present[name].unsqueeze(1), found, 0) for name, found in own.items()},
        present=present,
        candidates=_candidates(text, batch),
    )


def _candidates(text: Float[Tensor, "captions dim"], batch: ClipBatch) -> Float[Tensor, "batch extra dim"] | None:
    if batch.candidate_tokens is None:
        return None
    candidates = text[batch.rows :].unflatten(0, batch.candidate_tokens.shape[:2])
    return torch.where(batch.text_present[:, None, None], candidates, 0)
