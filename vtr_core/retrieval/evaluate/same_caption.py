"""Relevance by captions: every item that carries a query's caption is right, of whichever clip it is.

Where a sentence describes several films, the plain protocol counts all but one of them as wrong answers to it.
"""

import numpy as np
from jaxtyping import Int64
from scipy.sparse import csr_matrix

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import VideoSchema
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.scoring import Entries
from vtr_core.metrics.ranks import Relevance
from vtr_core.nn.embeddings import TEXT


class SameCaption:
    """Items that share a caption with the query; a caption's own clip always does.

    A text has its own caption, a clip all captions of its rows. A query without any modality has no relevant items, as
    under the plain protocol.
    """

    def __init__(self, rows: EmbeddedRows, caption_key: Int64[np.ndarray, " rows"]) -> None:
        self._clips, clip = np.unique(rows.clip_key, return_inverse=True)
        captions, self._caption = np.unique(caption_key, return_inverse=True)
        shape = (len(self._clips), len(captions))
        self._of_clips = csr_matrix((np.ones(len(clip), np.int64), (clip, self._caption)), shape)
        self._count = len(captions)

    def __call__(self, queries: Entries, items: Entries) -> Relevance:
        """The items that are right for each query."""
        shared = self._captions(queries) @ self._captions(items).T
        shared.sort_indices()
        found = Relevance(shared.indices.astype(np.int64), shared.indptr.astype(np.int64), len(items.key))
        return found.only(queries.any_present)

    def _captions(self, entries: Entries) -> csr_matrix:
        """(entries, captions), above 0 where an entry has a caption."""
        if entries.names != (TEXT,):
            return self._of_clips[np.searchsorted(self._clips, entries.key)]
        assert entries.rows is not None, "a caption is a row"
        own = self._caption[entries.rows]
        return csr_matrix((np.ones(len(own), np.int64), (np.arange(len(own)), own)), (len(own), self._count))


def caption_keys(manifest: Manifest) -> Int64[np.ndarray, " rows"]:
    """The key of each caption's text, in the order of the rows of an embedded data set."""
    if isinstance(manifest.schema, VideoSchema):
        reader = RowGroupReader(manifest, ["caption_keys"])
        groups = [reader.read_arrow(place)["caption_keys"] for place in row_groups(manifest)]
        return np.concatenate([group.flatten().to_numpy(zero_copy_only=False) for group in groups])
    reader = RowGroupReader(manifest, ["caption_key"])
    return np.concatenate([reader.read(place)["caption_key"] for place in row_groups(manifest)])
