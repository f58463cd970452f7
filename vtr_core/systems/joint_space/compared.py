"""Embeddings and similarities compared by a contrastive loss of one joint space, for monitoring."""

from functools import partial

from vtr_core.data.batches.rows import RowKeys
from vtr_core.losses.groups import modality_pairs
from vtr_core.losses.objectives.objective import Objective
from vtr_core.nn.embeddings import Embeddings
from vtr_core.nn.precision import at_least_float32
from vtr_core.systems.task import MOST_ROWS, Compared


def compared_embeddings(objective: Objective, embeddings: Embeddings, keys: RowKeys, step: int) -> Compared:
    """Each modality's vectors, and the similarities of each pair of modalities over the rows that have both."""
    first = Embeddings(
        {name: at_least_float32(vectors[:MOST_ROWS].detach()) for name, vectors in embeddings.vectors.items()},
        {name: present[:MOST_ROWS] for name, present in embeddings.present.items()},
    )
    return Compared(
        vectors={name: vectors[first.present[name]] for name, vectors in first.vectors.items()},
        scores={
            pair.name: partial(objective.scores, *(side[pair.rows] for side in pair.modalities))
            for pair in modality_pairs(first)
        },
        is_bounded=objective.is_bounded,
        chance=partial(objective.chance, embeddings, keys, step),
    )
