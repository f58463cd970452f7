"""Causality: the part of a similarity that comes from its strongest concepts, over sets of pairs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from vtr_core.config.data_sets import Comparison
from vtr_core.errors import ConfigError
from vtr_core.similarity import contributions

PAIR_CHUNK = 2048
"""Pairs processed at a time: 4 MiB with 512 concepts, which stay in a cache."""


@dataclass(frozen=True)
class CausalityAtK:
    """c_k of every pair, in [0, concept weight]."""

    values: Float[Tensor, " pairs"]

    @property
    def mean(self) -> float:
        """C@k, equation 5.6."""
        return float(self.values.double().mean())


@dataclass(frozen=True)
class CausalityCurves:
    """Mean and standard deviation over pairs, by rank of the concept within each pair (Figure 5.2).

    individual: of the r-th largest contribution. cumulative: of c_k, so `cumulative_mean[k - 1]` is C@k.
    """

    individual_mean: Float64[np.ndarray, " concepts"]
    individual_std: Float64[np.ndarray, " concepts"]
    cumulative_mean: Float64[np.ndarray, " concepts"]
    cumulative_std: Float64[np.ndarray, " concepts"]

    def at(self, k: int) -> float:
        """C@k; all concepts where there are fewer than k."""
        return float(self.cumulative_mean[min(k, len(self.cumulative_mean)) - 1])


@dataclass(frozen=True)
class Pairs:
    """Pairs of a video and a caption, by their row numbers."""

    name: str
    video: Int64[Tensor, " pairs"]
    text: Int64[Tensor, " pairs"]


def causality_at_k(
    video: Float[Tensor, "pairs concepts"],
    text: Float[Tensor, "pairs concepts"],
    k: int,
    similarity: Comparison,
    concept_weight: float = 1.0,
) -> CausalityAtK:
    """c_k, the sum of the k largest contributions of each pair, times the concept space's weight in the score.

    concept_weight: 1 under concept scoring; 1 − α under hybrid scoring, because the latent space's part of the score
    has no explanation. All concepts are taken where there are fewer than k. Source: thesis, equations 5.5 and 5.6.
    Pairs are processed in chunks. ConfigError for k < 1 or no pairs.
    """
    if k < 1:
        raise ConfigError(f"causality at {k}: k must be at least 1")
    _check_pairs(len(video))
    k = min(k, video.shape[1])
    parts = [
        contributions(video[chunk], text[chunk], similarity).topk(k, dim=1, sorted=False).values.sum(dim=1)
        for chunk in _chunks(len(video))
    ]
    return CausalityAtK(concept_weight * torch.cat(parts))


def causality_curves(
    video: Float[Tensor, "videos concepts"],
    text: Float[Tensor, "captions concepts"],
    pairs: Pairs,
    similarity: Comparison,
) -> CausalityCurves:
    """The two curves of Figure 5.2 over a set of pairs, in one pass that holds `PAIR_CHUNK` pairs at a time.

    Moments are merged chunk by chunk in float64 (Chan et al. 1979), so that small standard deviations are not lost to
    cancellation.
    """
    _check_pairs(len(pairs.video))
    individual, cumulative = _Moments(), _Moments()
    for chunk in _chunks(len(pairs.video)):
        shares = contributions(video[pairs.video[chunk]], text[pairs.text[chunk]], similarity)
        ordered = np.sort(shares.cpu().numpy(), axis=1)[:, ::-1].astype(np.float64)
        individual.add(ordered)
        cumulative.add(np.cumsum(ordered, axis=1))
    return CausalityCurves(individual.mean, individual.std, cumulative.mean, cumulative.std)


class _Moments:
    """Mean and sum of squared deviations of the rows seen so far, by column."""

    def __init__(self) -> None:
        self.count, self.mean, self._squares = 0, np.zeros(0), np.zeros(0)

    @property
    def std(self) -> Float64[np.ndarray, " columns"]:
        return np.asarray(np.sqrt(self._squares / self.count))

    def add(self, rows: Float64[np.ndarray, "rows columns"]) -> None:
        mean = rows.mean(axis=0)
        squares = ((rows - mean) ** 2).sum(axis=0)
        if not self.count:
            self.count, self.mean, self._squares = len(rows), mean, squares
            return
        total, difference = self.count + len(rows), mean - self.mean
        self._squares = self._squares + squares + difference**2 * self.count * len(rows) / total
        self.mean = self.mean + difference * len(rows) / total
        self.count = total


def _chunks(length: int) -> Iterator[slice]:
    return (slice(start, start + PAIR_CHUNK) for start in range(0, length, PAIR_CHUNK))


def _check_pairs(count: int) -> None:
    if not count:
        raise ConfigError("causality is a mean over pairs of a video and a caption; there are none")


RANDOM_PAIRS = 100_000
"""Number of random pairs, as in the thesis's Figure 5.2."""
Direction = Literal["text_to_video", "video_to_text"]


def matched_pairs(caption_video: Int64[Tensor, " captions"]) -> Pairs:
    """Every caption with its own video."""
    return Pairs("matched", caption_video, torch.arange(len(caption_video)))


def top_pairs(scores: Float[Tensor, "captions videos"], n: int, direction: Direction) -> Pairs:
    """Every query with its n highest-scoring items; all items where there are fewer.

    Ties are broken by torch.topk.
    """
    by_query = scores if direction == "text_to_video" else scores.T
    top = by_query.topk(min(n, by_query.shape[1]), dim=1).indices
    queries = torch.arange(len(by_query)).repeat_interleave(top.shape[1])
    if direction == "text_to_video":
        return Pairs(f"text->video top {n}", top.reshape(-1), queries)
    return Pairs(f"video->text top {n}", queries, top.reshape(-1))


def random_pairs(num_videos: int, num_captions: int, seed: int, count: int = RANDOM_PAIRS) -> Pairs:
    """`count` pairs drawn uniformly and independently from all combinations."""
    generator = torch.Generator().manual_seed(seed)
    videos = torch.randint(num_videos, (count,), generator=generator)
    return Pairs("random", videos, torch.randint(num_captions, (count,), generator=generator))


def drawn_captions(
    caption_video: Int64[Tensor, " captions"], num_videos: int, most: int, seed: int
) -> Int64[Tensor, " kept"]:
    """At most `most` captions of each video, drawn with `seed`, in order; all captions of a video that has fewer."""
    order = torch.randperm(len(caption_video), generator=torch.Generator().manual_seed(seed))
    by_video = order[torch.argsort(caption_video[order], stable=True)]
    counts = torch.bincount(caption_video, minlength=num_videos)
    starts = torch.cumsum(counts, 0) - counts
    place = torch.arange(len(by_video)) - starts[caption_video[by_video]]
    return by_video[place < most].sort().values


def every_set(
    scores: Float[Tensor, "captions videos"], caption_video: Int64[Tensor, " captions"], seed: int
) -> list[Pairs]:
    """The six sets of Figure 5.2: matched, the top 1 and top 10 in both directions, and random pairs."""
    retrieved = [top_pairs(scores, n, way) for way in ("text_to_video", "video_to_text") for n in (1, 10)]
    return [matched_pairs(caption_video), *retrieved, random_pairs(scores.shape[1], len(scores), seed)]
