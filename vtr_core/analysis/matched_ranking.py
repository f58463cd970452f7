"""Mean average precision in both directions, for thousands of score matrices of the same captions and videos."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from vtr_core.metrics.average_precision import expected_precision
from vtr_core.metrics.ranks import MetricError


@dataclass(frozen=True)
class DirectionalPrecision:
    """mAP of text-to-video retrieval (a caption's one video) and video-to-text (a video's captions); in [0, 1]."""

    text_to_video: float
    video_to_text: float

    @property
    def mean(self) -> float:
        """The mean of both directions, which the thesis optimises."""
        return (self.text_to_video + self.video_to_text) / 2


@dataclass(frozen=True)
class QueryPrecisions:
    """Average precision of every caption, and of every video that has captions, in [0, 1]."""

    captions: Float64[np.ndarray, " captions"]
    videos: Float64[np.ndarray, " queries"]

    @property
    def directional(self) -> DirectionalPrecision:
        """The means over the queries of each direction."""
        return DirectionalPrecision(float(self.captions.mean()), float(self.videos.mean()))


class MatchedRanking:
    """mAP of `metrics.ranking` with ties="expected", where caption i belongs to video `caption_video[i]` alone.

    What depends on the captions' videos only is computed once; each matrix then costs two passes and one sort. A video
    without a caption is an item but no query.
    """

    def __init__(self, caption_video: Int64[Tensor, " captions"], num_videos: int) -> None:
        counts = torch.bincount(caption_video, minlength=num_videos)
        self._queries = torch.nonzero(counts).squeeze(1)
        self._own, self._filled = _captions_by_video(caption_video, counts, self._queries)
        self._caption_video = caption_video
        self._num_videos = num_videos

    def precision(self, scores: Float[Tensor, "captions videos"]) -> DirectionalPrecision:
        """The mean average precisions; MetricError for a score that is not finite."""
        return self.by_query(scores).directional

    def by_query(self, scores: Float[Tensor, "captions videos"]) -> QueryPrecisions:
        """The average precision of every query; MetricError for a score that is not finite."""
        if not scores.isfinite().all():
            raise MetricError("a score is not finite; its average precision is undefined")
        return QueryPrecisions(self._text_to_video(scores), self._video_to_text(scores))

    def shares(self, precisions: QueryPrecisions) -> Float64[np.ndarray, " queries"]:
        """What each video with captions contributes with them: numbers whose mean is that of both directions' mAP.

        Captions of a video are not independent of each other, so intervals are over videos.
        """
        sums = np.bincount(self._caption_video.numpy(), weights=precisions.captions, minlength=self._num_videos)
        own = sums[self._queries.numpy()] * len(self._queries) / len(precisions.captions)
        return (own + precisions.videos) / 2

    def _text_to_video(self, scores: Tensor) -> Float64[np.ndarray, " captions"]:
        own = scores.gather(1, self._caption_video.unsqueeze(1))
        higher = (scores > own).sum(dim=1).numpy()
        equal = (scores == own).sum(dim=1).numpy()
        alone = np.ones_like(higher)
        return expected_precision(higher, equal, 0 * alone, alone, scores.shape[1])

    def _video_to_text(self, scores: Tensor) -> Float64[np.ndarray, " queries"]:
        columns = scores.T[self._queries].contiguous()
        own = columns.gather(1, self._own)
        ordered = torch.from_numpy(np.sort(columns.numpy(), axis=1))
        up_to = torch.searchsorted(ordered, own, right=True)
        below = torch.searchsorted(ordered, own, right=False)
        pairs = self._filled.unsqueeze(1) & self._filled.unsqueeze(2)
        relevant_higher = ((own.unsqueeze(1) > own.unsqueeze(2)) & pairs).sum(dim=2)
        relevant_equal = ((own.unsqueeze(1) == own.unsqueeze(2)) & pairs).sum(dim=2)
        filled = self._filled
        precisions = expected_precision(
            (len(scores) - up_to)[filled].numpy(),
            (up_to - below)[filled].numpy(),
            relevant_higher[filled].numpy(),
            relevant_equal[filled].numpy(),
            len(scores),
        )
        rows = torch.nonzero(filled)[:, 0].numpy()
        sums = np.bincount(rows, weights=precisions, minlength=len(filled))
        means: Float64[np.ndarray, " queries"] = sums / filled.sum(dim=1).numpy()
        return means


def _captions_by_video(
    caption_video: Tensor, counts: Tensor, queries: Tensor
) -> tuple[Int64[Tensor, "queries most"], Bool[Tensor, "queries most"]]:
    """The captions of each video that has any, padded with 0 to the same number, and a mask, false at padding."""
    most = int(counts.max())
    order = torch.argsort(caption_video, stable=True)
    starts = torch.cumsum(counts, 0) - counts
    filled = torch.arange(most) < counts[queries].unsqueeze(1)
    places = (starts[queries].unsqueeze(1) + torch.arange(most)).clamp(max=len(caption_video) - 1)
    return torch.where(filled, order[places], 0), filled
