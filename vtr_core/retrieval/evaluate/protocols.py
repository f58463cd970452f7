"""Protocols of retrieval beside the plain one: right items by caption, and all captions of a clip as one item.

Where a sentence describes several films, the plain protocol counts all but one of them as wrong answers to it.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64
from scipy.sparse import csr_matrix

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import VideoSchema
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import (
    VIDEO,
    Direction,
    Entries,
    Ranking,
    block_scores,
    figures,
    first_rows,
    known_captions,
    visible,
)
from vtr_core.metrics.ranking import ITEM_CHUNK, QUERY_CHUNK
from vtr_core.metrics.ranks import Relevance, ScoreChunk, from_labels
from vtr_core.nn.embeddings import TEXT
from vtr_core.similarity import SimilarityKind


class SameCaption:
    """Items that share a caption with the query; a caption's own clip always does.

    A text has its own caption, a clip all captions of its rows. A query without any modality has no relevant items, as
    under the plain protocol.
    """

    def __init__(self, rows: EmbeddedRows, caption_key: Int64[np.ndarray, " rows"]) -> None:
        self._clips, clip = np.unique(rows.clip_key, return_inverse=True)
        distinct, self._caption = np.unique(caption_key, return_inverse=True)
        shape = (len(self._clips), len(distinct))
        self._of_clips = csr_matrix((np.ones(len(clip), np.int64), (clip, self._caption)), shape)
        self._count = len(distinct)

    def __call__(self, queries: Entries, items: Entries) -> Relevance:
        """The items that are right for each query."""
        shared = self._captions(queries) @ self._captions(items).T
        shared.sort_indices()
        relevance = Relevance(shared.indices.astype(np.int64), shared.indptr.astype(np.int64), len(items.key))
        return relevance.only(queries.any_present)

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


def best_captions(rows: EmbeddedRows, similarity: SimilarityKind) -> list[Direction]:
    """s(v, u) = the greatest sim(v, c) over the captions c of clip u that have a known word.

    Video to text where clips have several captions, as CLIP4Clip evaluates MSVD: a clip takes one place, however many
    captions it has. Clips without a known caption are neither queries nor items.
    """
    if VIDEO not in visible(rows) or TEXT not in rows.vectors:
        return []
    texts, clips = known_captions(rows), first_rows(rows, [VIDEO])
    clips = clips.select(clips.any_present & np.isin(clips.key, texts.key))
    if not len(clips.key):
        return []
    items = _Grouped.of(texts)
    ranking = Ranking("v2t", "video → text", clips, items.entries, from_labels(clips.key, items.clips))
    scores = _best_scores(items, block_scores(clips, items.entries, similarity))
    return [figures(ranking, scores, QUERY_CHUNK, max(1, ITEM_CHUNK // items.longest))]


@dataclass(frozen=True)
class _Grouped:
    """Captions sorted by the keys of their clips: the g-th of `clips` has entries `starts[g]` to `starts[g + 1]`."""

    entries: Entries
    clips: Int64[np.ndarray, " clips"]
    starts: Int64[np.ndarray, " clips_and_one"]

    @classmethod
    def of(cls, entries: Entries) -> "_Grouped":
        order = np.argsort(entries.key, kind="stable")
        clips, first = np.unique(entries.key[order], return_index=True)
        return cls(entries.select(order), clips, np.append(first, len(order)).astype(np.int64))

    @property
    def longest(self) -> int:
        """The largest number of captions of a clip."""
        return int(np.diff(self.starts).max())

    def span(self, clips: slice) -> slice:
        """The captions of a range of clips."""
        return slice(int(self.starts[clips.start]), int(self.starts[clips.stop]))


def _best_scores(items: _Grouped, scores: ScoreChunk) -> ScoreChunk:
    """Scores of queries and groups: those of the best entry of each."""

    def block(queries: slice, item_part: slice) -> np.ndarray:
        texts = items.span(item_part)
        return np.maximum.reduceat(scores(queries, texts), items.starts[item_part] - texts.start, axis=1)

    return block
