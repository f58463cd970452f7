"""Retrieval metrics of both directions from one score matrix of captions and videos."""

from dataclasses import dataclass

from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.metrics.ranking import RetrievalMetrics, retrieval_metrics, sum_r
from vtr_core.metrics.relevance import from_labels

FIGURES = (*(f"{way}_{name}" for way in ("t2v", "v2t") for name in ("r1", "r5", "r10", "medr", "map")), "sum_r", "map")
"""The metrics of `MatchedFigures.values` that tables show, and their headings."""
HEADS = ("t2v R@1", "R@5", "R@10", "MedR", "mAP", "v2t R@1", "R@5", "R@10", "MedR", "mAP", "SumR", "mAP")


@dataclass(frozen=True)
class MatchedFigures:
    """Metrics of text-to-video and video-to-text retrieval."""

    text_to_video: RetrievalMetrics
    video_to_text: RetrievalMetrics

    @property
    def mean_average_precision(self) -> float:
        """The mean mAP of both directions, in [0, 1]."""
        return (self.text_to_video.mean_average_precision + self.video_to_text.mean_average_precision) / 2

    @property
    def sum_r(self) -> float:
        """R@1 + R@5 + R@10 of both directions, in percent."""
        return sum_r(self.text_to_video, self.video_to_text)

    def values(self) -> dict[str, float]:
        """Metrics by name: `t2v_r1` …, `t2v_medr`, `t2v_map`, `v2t_…`, and `sum_r` and `map` of both; ranks, others in
        percent.
        """
        found: dict[str, float] = {}
        for way, metrics in (("t2v", self.text_to_video), ("v2t", self.video_to_text)):
            found.update({f"{way}_r{k}": 100 * recall for k, recall in metrics.recall.items()})
            found[f"{way}_medr"] = metrics.median_rank
            found[f"{way}_map"] = 100 * metrics.mean_average_precision
        return {**found, "map": 100 * self.mean_average_precision, "sum_r": self.sum_r}


def matched_figures(
    scores: Float[Tensor, "captions videos"], caption_video: Int64[Tensor, " captions"]
) -> MatchedFigures:
    """The metrics of scores where caption i matches video `caption_video[i]` only; a video without captions is no
    query.
    """
    queries = caption_video.unique()
    owners = caption_video.numpy()
    every = range(scores.shape[1])
    there = retrieval_metrics(scores, from_labels(owners, queries.new_tensor(every).numpy()))
    back = retrieval_metrics(scores.T[queries], from_labels(queries.numpy(), owners))
    return MatchedFigures(there, back)
