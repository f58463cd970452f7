"""Invented videos and queries in two spaces, and a report on them."""

import numpy as np
import torch

from vtr_core.analysis.transforms import ConceptSimilarity, Transform
from vtr_core.embedding.video_ranking import DualQuery, DualVideos, Scoring
from vtr_core.retrieval.explain.explained_queries import Described, explain_report
from vtr_core.retrieval.explain.explanation import AskedQuery, ExplainOptions, ExplainReport

WORDS = ("dog", "run", "grass", "cat", "sleep", "sofa", "man", "cook", "pan", "egg", "car", "road", "song", "guitar")


def videos(
    num_videos: int = 9, similarity: ConceptSimilarity = "jaccard", names: tuple[str, ...] = WORDS, prefix: str = "v"
) -> DualVideos:
    generator = torch.Generator().manual_seed(5)
    latent = torch.nn.functional.normalize(torch.randn(num_videos, 6, generator=generator), dim=1)
    concept = 2 * torch.randn(num_videos, len(names), generator=generator) - 1
    return DualVideos(tuple(f"{prefix}{i}" for i in range(num_videos)), latent, concept, names, similarity)


def query(text: str = "a dog runs", seed: int = 3, concepts: int = len(WORDS)) -> DualQuery:
    generator = torch.Generator().manual_seed(seed)
    latent = torch.nn.functional.normalize(torch.randn(6, generator=generator), dim=0)
    return DualQuery(text, latent, 2 * torch.randn(concepts, generator=generator) - 1)


def hybrid(similarity: ConceptSimilarity = "jaccard", **changes: object) -> Scoring:
    return Scoring("hybrid", Transform(similarity), **changes)  # type: ignore[arg-type]


def report(
    texts: tuple[str, ...] = ("a dog runs", "a cat sleeps"),
    searched: DualVideos | None = None,
    improved: Transform | None = None,
    right: tuple[int, ...] = (2,),
    scoring: Scoring | None = None,
    options: ExplainOptions | None = None,
    described: Described | None = None,
) -> ExplainReport:
    searched = searched or videos()
    requested = [AskedQuery(text, right if i == 0 else ()) for i, text in enumerate(texts)]
    queries = [query(text, seed=i, concepts=len(searched.concepts)) for i, text in enumerate(texts)]
    return explain_report(
        described or Described("/runs/one", "hybrid-toy", 7, "data/test"),
        searched,
        requested,
        queries,
        scoring or hybrid(searched.similarity),
        improved,
        options or ExplainOptions(hits=3, tags=5),
    )


def as_lists(values: torch.Tensor) -> list:
    return np.asarray(values, np.float64).tolist()
