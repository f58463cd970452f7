"""Retrieval by all captions together: those of a video form one query, those of a clip one item."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import VIDEO, Direction, Ranking, figures, match, visible
from vtr_core.embedding.scoring import (
    Entries,
    block_scores,
    captions,
    first_of_clips,
    first_rows,
    known_captions,
)
from vtr_core.metrics.ranking import ITEM_CHUNK, QUERY_CHUNK
from vtr_core.metrics.ranks import ScoreChunk, from_labels
from vtr_core.nn.embeddings import TEXT
from vtr_core.similarity import SimilarityKind


def mean_embeddings(rows: EmbeddedRows, similarity: SimilarityKind) -> list[Direction]:
    """s(u, v) = sim(mean over the captions of u, mean over the clips of v) of the embeddings.

    Every video is a query, every video with a visible clip is an item. Captions without a known word and clips without
    any of the modalities are excluded from the means; a video without other captions counts as a failure, one without
    other clips is no item. Each modality has a mean of its own, over the clips that have it.
    """
    found = []
    for name, title, texts, items in _directions(rows):
        pooled_queries, pooled_items = _mean(texts), _mean(items)
        ranking = Ranking(name, title, pooled_queries, pooled_items, match(pooled_queries, pooled_items))
        found.append(figures(ranking, ranking.scores(similarity)))
    return found


def caption_average(rows: EmbeddedRows, similarity: SimilarityKind) -> list[Direction]:
    """s(u, v) = mean over the captions c of u of the greatest sim(c, k) over the clips k of v.

    Queries, items and exclusions as for `mean_embeddings`. Blocks of captions × clips are scored and reduced one at a
    time: at most QUERY_CHUNK × ITEM_CHUNK scores, more only where a single video has more captions or clips.
    """
    found = []
    for name, title, texts, items in _directions(rows):
        queries, clips = _Grouped.of(texts), _Grouped.of(items)
        known = np.add.reduceat(queries.entries.any_present, queries.starts[:-1]) > 0
        relevance = from_labels(queries.videos, clips.videos).only(known)
        ranking = Ranking(name, title, queries.entries, clips.entries, relevance)
        scores = _best_scores(queries, clips, block_scores(queries.entries, clips.entries, similarity))
        chunks = max(1, QUERY_CHUNK // queries.longest), max(1, ITEM_CHUNK // clips.longest)
        found.append(figures(ranking, scores, *chunks))
    return found


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
    queries, items = _Grouped.of(clips), _Grouped.of(texts)
    relevance = from_labels(queries.videos, items.videos)
    ranking = Ranking("v2t", "video → text", queries.entries, items.entries, relevance)
    scores = _best_scores(queries, items, block_scores(queries.entries, items.entries, similarity))
    return [figures(ranking, scores, QUERY_CHUNK, max(1, ITEM_CHUNK // items.longest))]


@dataclass(frozen=True)
class _Grouped:
    """Entries sorted by key, of videos or clips: the g-th of `videos` has entries `starts[g]` to `starts[g + 1]`."""

    entries: Entries
    videos: Int64[np.ndarray, " videos"]
    starts: Int64[np.ndarray, " videos_and_one"]

    @classmethod
    def of(cls, entries: Entries) -> "_Grouped":
        order = np.argsort(entries.key, kind="stable")
        videos, first = np.unique(entries.key[order], return_index=True)
        return cls(entries.select(order), videos, np.append(first, len(order)).astype(np.int64))

    @property
    def longest(self) -> int:
        """The largest number of entries of a video."""
        return int(np.diff(self.starts).max())

    def span(self, videos: slice) -> slice:
        """The entries of a range of videos."""
        return slice(int(self.starts[videos.start]), int(self.starts[videos.stop]))


def _directions(rows: EmbeddedRows) -> list[tuple[str, str, Entries, Entries]]:
    """Name, title, captions and visible clips, both with the keys of their videos."""
    names = visible(rows)
    texts = captions(rows)
    texts = Entries(texts.parts, texts.present, rows.video_key)
    found = []
    if "video" in names:
        found.append(("t2v", "text → video", texts, _clips_of_videos(rows, ["video"])))
    if len(names) == 2:
        found.append(("t2va", "text → video+audio", texts, _clips_of_videos(rows, names)))
    return found if TEXT in rows.vectors else []


def _clips_of_videos(rows: EmbeddedRows, names: Sequence[str]) -> Entries:
    clips = first_rows(rows, names)
    clips = Entries(clips.parts, clips.present, rows.video_key[first_of_clips(rows)])
    return clips.select(clips.any_present)


def _mean(entries: Entries) -> Entries:
    """One entry per video: for each modality the mean of the vectors of the entries that have it."""
    videos, group = np.unique(entries.key, return_inverse=True)
    counts = [np.bincount(group[has], minlength=len(videos)) for has in entries.present]
    index = torch.from_numpy(group.astype(np.int64))
    means = tuple(_mean_of(part, index, count) for part, count in zip(entries.parts, counts, strict=True))
    return Entries(means, tuple(count > 0 for count in counts), videos)


def _mean_of(
    vectors: Float[Tensor, "entries dim"], group: Tensor, counts: Int64[np.ndarray, " groups"]
) -> Float[Tensor, "groups dim"]:
    sums = vectors.new_zeros(len(counts), vectors.shape[1]).index_add_(0, group, vectors)
    return sums / torch.from_numpy(np.maximum(counts, 1)).unsqueeze(1)


def _best_scores(queries: _Grouped, items: _Grouped, scores: ScoreChunk) -> ScoreChunk:
    """Scores between groups: the mean over the queries of one of its best entry of the other."""
    counts_for = queries.entries.any_present

    def block(query_part: slice, item_part: slice) -> np.ndarray:
        lines, clips = queries.span(query_part), items.span(item_part)
        best = np.maximum.reduceat(scores(lines, clips), items.starts[item_part] - clips.start, axis=1)
        weights = counts_for[lines].astype(best.dtype)
        starts = queries.starts[query_part] - lines.start
        count = np.maximum(np.add.reduceat(weights, starts), 1)
        return np.add.reduceat(best * weights[:, None], starts, axis=0) / count[:, None]

    return block
