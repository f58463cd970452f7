"""A data set as input of the analyses of a dual encoder, and the retrieval metrics of evaluation on it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.analysis.causality import drawn_captions
from vtr_core.analysis.transforms import ConceptSimilarity, ConceptSpace
from vtr_core.embedding.video_ranking import Scoring
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.metrics.ranking import sum_r
from vtr_core.systems.dual.dual_embeddings import DualRows, with_captions
from vtr_core.systems.dual.evaluation import evaluate_dual


@dataclass(frozen=True)
class AnalysedSet:
    """The captions and videos of a data set by space; those that can be seen, with places of their own, for analyses.

    Seen are the captions with an in-vocabulary word and a video with frames, and all videos with frames. Retrieval
    metrics, by `figures`, are of all captions: those that are not seen count as failures, as in `vtr evaluate`.
    """

    name: str
    rows: DualRows

    @cached_property
    def _captions(self) -> Int64[np.ndarray, " seen"]:
        return np.flatnonzero(self.rows.text_present & self.rows.video_present[self.rows.caption_video])

    @cached_property
    def _videos(self) -> Int64[np.ndarray, " seen"]:
        return np.flatnonzero(self.rows.video_present)

    @cached_property
    def text(self) -> Mapping[str, Float[Tensor, "captions _"]]:
        """The vectors of the captions, by space."""
        return {space: torch.from_numpy(vectors[self._captions]) for space, vectors in self.rows.text.items()}

    @cached_property
    def video(self) -> Mapping[str, Float[Tensor, "videos _"]]:
        """The vectors of the videos, by space."""
        return {space: torch.from_numpy(vectors[self._videos]) for space, vectors in self.rows.video.items()}

    @cached_property
    def caption_video(self) -> Int64[Tensor, " captions"]:
        """The place of each caption's video."""
        return torch.from_numpy(np.searchsorted(self._videos, self.rows.caption_video[self._captions]))

    @property
    def video_key(self) -> Int64[np.ndarray, " videos"]:
        """The keys of the videos."""
        return self.rows.video_key[self._videos]

    @property
    def left_out(self) -> int:
        """The number of captions and videos that are not seen."""
        total = len(self.rows.captions) + len(self.rows.video_id)
        return total - len(self._captions) - len(self._videos)

    def concept_space(self, similarity: ConceptSimilarity) -> ConceptSpace:
        """The concept scores; CheckpointError for a model without them."""
        if "concept" not in self.rows.text:
            raise CheckpointError(
                "the checkpoint is of a model without a concept space, so no concept has a part in its decisions; "
                "give one that was trained with model.num_concepts"
            )
        return ConceptSpace(self.text["concept"], self.video["concept"], self.caption_video, similarity)

    def few_captions(self, most: int, seed: int) -> "AnalysedSet":
        """At most `most` captions of each video, sampled with `seed` of those that are seen; all videos are kept."""
        drawn = drawn_captions(self.caption_video, len(self._videos), most, seed).numpy()
        return AnalysedSet(self.name, with_captions(self.rows, self._captions[drawn]))


def analysed_set(name: str, rows: DualRows) -> AnalysedSet:
    """The rows of a data set; DatasetError if an analysis can use none."""
    data = AnalysedSet(name, rows)
    if not len(data.caption_video):
        raise DatasetError(f"{name}: no caption with a known word belongs to a video with frames; nothing to analyse")
    return data


def fused(first: DualRows, second: DualRows) -> DualRows:
    """The latent spaces of two models as two spaces of one; a caption that either does not know has no score.

    DatasetError where the two have different captions or videos, CheckpointError for a model without a latent space.
    """
    if not np.array_equal(first.caption_key, second.caption_key) or first.video_id != second.video_id:
        raise DatasetError("the two models were not evaluated on the same captions and videos")
    if "latent" not in first.text or "latent" not in second.text:
        raise CheckpointError("fused spaces are latent ones; a model has none")
    return replace(
        first,
        text={"latent": first.text["latent"], "concept": second.text["latent"]},
        video={"latent": first.video["latent"], "concept": second.video["latent"]},
        text_present=first.text_present & second.text_present,
        video_present=first.video_present & second.video_present,
    )


def figures_by_space(rows: DualRows, scoring: Scoring) -> dict[str, dict[str, float]]:
    """The metrics of `vtr evaluate`, by space, where `two spaces` is by the hybrid score, and then by name.

    `t2v_r1` …, `t2v_medr`, `t2v_map`, `v2t_…`, and `sum_r` and `map`, their mean, of both directions; ranks, others in
    percent.
    """
    by_space: dict[str, dict[str, float]] = {}
    for of_space in evaluate_dual(rows, scoring):
        values: dict[str, float] = {}
        for direction in of_space.directions:
            way, metrics = direction.name, direction.metrics
            values.update({f"{way}_r{k}": 100 * recall for k, recall in metrics.recall.items()})
            values |= {f"{way}_medr": metrics.median_rank, f"{way}_map": 100 * metrics.mean_average_precision}
        both = sum_r(*(direction.metrics for direction in of_space.directions))
        name = "two spaces" if of_space.space == "hybrid" else of_space.space
        by_space[name] = {**values, "map": (values["t2v_map"] + values["v2t_map"]) / 2, "sum_r": both}
    return by_space
