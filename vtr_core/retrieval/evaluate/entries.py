"""Queries or items of a retrieval, each with the vectors of one or several modalities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from vtr_core.nn.embeddings import TEXT
from vtr_core.retrieval.embed.clips import EmbeddedRows


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

    def select(self, kept: Bool[np.ndarray, " entries"] | Int64[np.ndarray, " kept"] | slice) -> "Entries":
        """The entries selected by a mask, by positions, or by a range."""
        index = kept if isinstance(kept, slice) else torch.from_numpy(kept)
        parts, present = tuple(p[index] for p in self.parts), tuple(p[kept] for p in self.present)
        return Entries(parts, present, self.key[kept], None if self.rows is None else self.rows[kept], self.names)


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
