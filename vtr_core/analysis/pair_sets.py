"""The sets of pairs over which causality is averaged: matched, retrieved, and random ones."""

from typing import Literal, assert_never

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.analysis.causality import Pairs

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
    match direction:
        case "text_to_video":
            found = scores.topk(min(n, scores.shape[1]), dim=1).indices
            captions = torch.arange(len(scores)).repeat_interleave(found.shape[1])
            return Pairs(f"text->video top {n}", found.reshape(-1), captions)
        case "video_to_text":
            found = scores.topk(min(n, len(scores)), dim=0).indices.T
            videos = torch.arange(scores.shape[1]).repeat_interleave(found.shape[1])
            return Pairs(f"video->text top {n}", videos, found.reshape(-1))
        case _:
            assert_never(direction)


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
