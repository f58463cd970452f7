"""A data set as input of the analyses of a dual encoder, and retrieval metrics of its score matrices."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.analysis.causality import drawn_captions
from vtr_core.analysis.transforms import ConceptSimilarity, ConceptSpace
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.metrics.ranking import RetrievalMetrics, retrieval_metrics, sum_r
from vtr_core.metrics.ranks import from_labels
from vtr_core.similarity import cosine
from vtr_core.systems.dual.dual_embeddings import DualRows


@dataclass(frozen=True)
class AnalysedSet:
    """Captions with an in-vocabulary word and a video with frames, and all videos with frames, by space of the model.

    `left_out` is the number of other captions and videos: `vtr evaluate` counts them as failures, analyses ignore them.
    """

    name: str
    text: Mapping[str, Float[Tensor, "captions _"]]
    video: Mapping[str, Float[Tensor, "videos _"]]
    caption_video: Int64[Tensor, " captions"]
    caption_key: Int64[np.ndarray, " captions"]
    video_key: Int64[np.ndarray, " videos"]
    left_out: int

    @cached_property
    def latent_scores(self) -> Float[Tensor, "captions videos"] | None:
        """The cosines in latent space, where the model has one."""
        return cosine(self.text["latent"], self.video["latent"]) if "latent" in self.text else None

    def concept_space(self, similarity: ConceptSimilarity) -> ConceptSpace:
        """The concept scores; CheckpointError for a model without them."""
        if "concept" not in self.text:
            raise CheckpointError(
                "the checkpoint is of a model without a concept space, so no concept has a part in its decisions; "
                "give one that was trained with model.num_concepts"
            )
        return ConceptSpace(self.text["concept"], self.video["concept"], self.caption_video, similarity)

    def few_captions(self, most: int, seed: int) -> "AnalysedSet":
        """At most `most` captions of each video, sampled with `seed`; all videos are kept."""
        return self._captions(drawn_captions(self.caption_video, len(self.video_key), most, seed))

    def with_captions_of(self, other: "AnalysedSet") -> "AnalysedSet":
        """Only the captions that `other` also has; DatasetError where the two have different videos."""
        if not np.array_equal(self.video_key, other.video_key):
            raise DatasetError(f"{self.name} and {other.name} do not have the same videos with frames")
        return self._captions(torch.from_numpy(np.flatnonzero(np.isin(self.caption_key, other.caption_key))))

    def _captions(self, chosen: Int64[Tensor, " chosen"]) -> "AnalysedSet":
        return replace(
            self,
            text={space: vectors[chosen] for space, vectors in self.text.items()},
            caption_video=self.caption_video[chosen],
            caption_key=self.caption_key[chosen.numpy()],
        )


def analysed_set(name: str, rows: DualRows) -> AnalysedSet:
    """The rows of a data set that an analysis can use; DatasetError if there are none."""
    videos = np.flatnonzero(rows.video_present)
    captions = np.flatnonzero(rows.text_present & rows.video_present[rows.caption_video])
    if not len(captions):
        raise DatasetError(f"{name}: no caption with a known word belongs to a video with frames; nothing to analyse")
    place = np.full(len(rows.video_present), -1)
    place[videos] = np.arange(len(videos))
    return AnalysedSet(
        name=name,
        text={space: torch.from_numpy(vectors[captions]) for space, vectors in rows.text.items()},
        video={space: torch.from_numpy(vectors[videos]) for space, vectors in rows.video.items()},
        caption_video=torch.from_numpy(place[rows.caption_video[captions]]),
        caption_key=rows.caption_key[captions],
        video_key=rows.video_key[videos],
        left_out=len(rows.captions) - len(captions) + len(rows.video_id) - len(videos),
    )


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
        values: dict[str, float] = {}
        for way, metrics in (("t2v", self.text_to_video), ("v2t", self.video_to_text)):
            values.update({f"{way}_r{k}": 100 * recall for k, recall in metrics.recall.items()})
            values[f"{way}_medr"] = metrics.median_rank
            values[f"{way}_map"] = 100 * metrics.mean_average_precision
        return {**values, "map": 100 * self.mean_average_precision, "sum_r": self.sum_r}


def matched_figures(
    scores: Float[Tensor, "captions videos"], caption_video: Int64[Tensor, " captions"]
) -> MatchedFigures:
    """The metrics of scores where caption i matches video `caption_video[i]` only; a video without captions is no
    query.
    """
    queries = caption_video.unique()
    owners = caption_video.numpy()
    every = range(scores.shape[1])
    to_video = retrieval_metrics(scores, from_labels(owners, queries.new_tensor(every).numpy()))
    return MatchedFigures(to_video, retrieval_metrics(scores.T[queries], from_labels(queries.numpy(), owners)))
