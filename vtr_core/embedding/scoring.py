"""Scores of blocks of queries and items, each of one or several modalities, under a configured similarity."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from vtr_core.config.losses import ContrastiveLossConfig
from vtr_core.config.run import TrainConfig
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.metrics.ranks import ScoreChunk
from vtr_core.nn.embeddings import TEXT
from vtr_core.similarity import Similarity, SimilarityKind, mean_over_modalities, similarity_function


@dataclass(frozen=True)
class Entries:
    """Queries or items. `parts[m][i]` is the vector of modality m, exactly 0 where `present[m][i]` is false.

    A query and an item match where their keys, of clips or of videos, are equal.
    """

    parts: tuple[Float[Tensor, "entries dim"], ...]
    present: tuple[Bool[np.ndarray, " entries"], ...]
    key: Int64[np.ndarray, " entries"]
    rows: Int64[np.ndarray, " entries"] | None = None
    """The row of the data set that each entry is, where it is one."""
    names: tuple[str, ...] = ()
    """The modalities of `parts`, where entries are rows."""

    @property
    def any_present(self) -> Bool[np.ndarray, " entries"]:
        """Mask of the entries with at least one modality."""
        return np.logical_or.reduce(self.present)

    def select(self, chosen: Bool[np.ndarray, " entries"] | Int64[np.ndarray, " kept"] | slice) -> "Entries":
        """The entries selected by a mask, by positions, or by a range."""
        index = chosen if isinstance(chosen, slice) else torch.from_numpy(chosen)
        parts, present = tuple(p[index] for p in self.parts), tuple(p[chosen] for p in self.present)
        return Entries(parts, present, self.key[chosen], None if self.rows is None else self.rows[chosen], self.names)


def captions(rows: EmbeddedRows) -> Entries:
    """One entry for each row, also for captions without a known word."""
    every = np.arange(len(rows.clip_key))
    return Entries((torch.from_numpy(rows.vectors[TEXT]),), (rows.present[TEXT],), rows.clip_key, every, (TEXT,))


def known_captions(rows: EmbeddedRows) -> Entries:
    """One entry for each caption with a known word."""
    entries = captions(rows)
    return entries.select(entries.any_present)


def clips(rows: EmbeddedRows, names: Sequence[str]) -> Entries:
    """One entry for each clip with any of the modalities `names`, in the order of the rows."""
    entries = first_rows(rows, names)
    return entries.select(entries.any_present)


def first_rows(rows: EmbeddedRows, names: Sequence[str]) -> Entries:
    """One entry for each clip, from its first row: rows of the same clip differ in their captions only."""
    first = first_of_clips(rows)
    parts = [np.where(rows.present[name][first, None], rows.vectors[name][first], 0) for name in names]
    return Entries(
        parts=tuple(torch.from_numpy(part.astype(np.float32, copy=False)) for part in parts),
        present=tuple(rows.present[name][first] for name in names),
        key=rows.clip_key[first],
        rows=first,
        names=tuple(names),
    )


def first_of_clips(rows: EmbeddedRows) -> Int64[np.ndarray, " clips"]:
    """The index of every clip's first row, ascending."""
    return np.sort(np.unique(rows.clip_key, return_index=True)[1])


def block_scores(queries: Entries, items: Entries, similarity: SimilarityKind) -> ScoreChunk:
    """Scores of a range of queries and a range of items; higher is more similar.

    Of several modalities the similarities are averaged, see `mean_over_modalities`.
    """
    score = similarity_function(similarity)
    return lambda query_part, item_part: _mean_scores(
        queries.select(query_part), items.select(item_part), score
    ).numpy()


def _mean_scores(queries: Entries, items: Entries, score: Similarity) -> Float[Tensor, "queries items"]:
    has_query, has_item = (list(map(torch.from_numpy, side.present)) for side in (queries, items))
    return mean_over_modalities(queries.parts, items.parts, has_query, has_item, [score] * len(items.parts))


@dataclass(frozen=True)
class Protocol:
    """The similarity that the loss compared, the one that checkpoints were chosen by, and the one that judges.

    Duarte et al. train with dot products and judge by the Euclidean distance, which order items alike only where their
    vectors are equally long.
    """

    trained_with: str
    """A similarity, or the kind of a loss that has one of its own."""
    chosen_by: SimilarityKind
    judged_by: SimilarityKind

    @classmethod
    def of(cls, config: TrainConfig, judged_by: SimilarityKind) -> "Protocol":
        """The protocol of a run whose embeddings are compared by `judged_by` now."""
        loss = config.loss
        trained_with = loss.similarity if isinstance(loss, ContrastiveLossConfig) else loss.kind
        return cls(trained_with, config.evaluation.similarity, judged_by)

    def flat(self) -> dict[str, str]:
        """By name, for a run's parameters and JSON: `similarity_trained_with`, …."""
        return {f"similarity_{name}": value for name, value in asdict(self).items()}

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> "Protocol":
        """The inverse of `flat`, among other values."""
        return cls(**{field.name: values[f"similarity_{field.name}"] for field in fields(cls)})

    def __str__(self) -> str:
        return f"trained with {self.trained_with}, checkpoint chosen by {self.chosen_by}, judged by {self.judged_by}"
