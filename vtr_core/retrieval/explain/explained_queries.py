"""Reports of queries with explained hits: of a dual encoder, also under a transform, or of an encoder's index."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from torch import Tensor

from vtr_core.analysis.transforms import Transform
from vtr_core.embedding.video_ranking import (
    DualQuery,
    DualVideos,
    PreparedSearch,
    Scoring,
    latent_scores,
    prepare,
    rank_of,
    ranked,
)
from vtr_core.errors import ConfigError, InputError
from vtr_core.retrieval.explain.explanation import (
    Answer,
    AskedQuery,
    ExplainOptions,
    ExplainReport,
    HitExplanation,
    QueryExplanation,
    System,
    explain_hits,
)
from vtr_core.retrieval.index.items import Items
from vtr_core.retrieval.search.index_search import JointSearcher


@dataclass(frozen=True)
class Described:
    """Descriptions of model and data on the page."""

    checkpoint: str
    preset: str
    step: int
    data: str


def explainable(videos: DualVideos, scoring: Scoring) -> PreparedSearch:
    """As `prepare`; ConfigError for a model or a scoring without concepts."""
    if videos.concept is None or scoring.space == "latent":
        raise ConfigError(
            "explanations are made of concepts, which latent space does not have; give a checkpoint with a concept "
            "space, and --space hybrid or concept"
        )
    return prepare(videos, scoring)


def answer(
    system: PreparedSearch,
    query: DualQuery,
    right: Sequence[int],
    options: ExplainOptions,
    latent: Float[Tensor, " videos"] | None,
) -> Answer:
    """The best videos of one query, explained. latent: `latent_scores` of the query, the same for all systems."""
    assert query.concept is not None, "a model with concepts gives every query concept scores"
    assert system.compared is not None
    scores = system.score(query, latent)
    positions = ranked(scores, system.scoring, options.hits)
    hits = explain_hits(
        positions,
        scores,
        system.compared[positions],
        system.scoring.transform.apply(query.concept),
        system.scoring,
        concepts=system.videos.concepts,
        video_ids=[system.videos.video_id[position] for position in positions.tolist()],
        right=right,
        num_tags=options.tags,
    )
    return Answer(rank_of(scores, np.array(right)) if right else None, hits)


def explain_report(
    described: Described,
    videos: DualVideos,
    asked_queries: Sequence[AskedQuery],
    embedded: Sequence[DualQuery],
    scoring: Scoring,
    improved: Transform | None,
    options: ExplainOptions,
) -> ExplainReport:
    """Explained results of all queries under the trained model and, if given, under the improved transform.

    `scoring` has the transform of the first system. A system's causality is the mean over all its hits on the page.
    """
    scorings = {"original": scoring}
    if improved is not None:
        scorings["improved"] = scoring.transformed(improved)
    systems = [explainable(videos, each) for each in scorings.values()]
    queries = []
    for query, vectors in zip(asked_queries, embedded, strict=True):
        latent = latent_scores(videos, vectors)
        answers = tuple(answer(system, vectors, query.right, options, latent) for system in systems)
        queries.append(QueryExplanation(query.text, tuple(videos.video_id[i] for i in query.right), answers))
    return _report(described, scorings, len(videos.video_id), len(videos.concepts), queries, options)


def zero_shot_report(
    described: Described, searcher: JointSearcher, items: Items, queries: Sequence[AskedQuery], options: ExplainOptions
) -> ExplainReport:
    """Explained results of an index whose model names concepts, under its own similarity Σ_i z_i q_i.

    InputError for an empty query.
    """
    explained = []
    for query in queries:
        positions = searcher.ranking(query.text, len(items) if query.right else options.hits)
        hits = searcher.explained(query.text, positions[: options.hits], options.tags, query.right)
        if hits is None:
            raise InputError("a query is empty; say what the video shows")
        ranks = np.flatnonzero(np.isin(positions, query.right))
        right = tuple(item.item_id for item in items.at(list(query.right)))
        explained.append(QueryExplanation(query.text, right, (Answer(int(ranks[0]) + 1 if right else None, hits),)))
    scoring = Scoring("concept", Transform("dot"), latent_weight=0.0)
    return _report(described, {"zero-shot": scoring}, len(items), len(searcher.concepts), explained, options)


def _report(
    described: Described,
    scorings: dict[str, Scoring],
    num_videos: int,
    num_concepts: int,
    queries: Sequence[QueryExplanation],
    options: ExplainOptions,
) -> ExplainReport:
    """The report of the scorings of one model, by title; the answers of a query are in their order."""
    first = next(iter(scorings.values()))
    return ExplainReport(
        **vars(described),
        num_videos=num_videos,
        num_concepts=num_concepts,
        space=first.space,
        latent_weight=first.latent_weight,
        options=options,
        systems=tuple(
            _system(title, described.step, num_concepts, scoring, [query.answers[place] for query in queries])
            for place, (title, scoring) in enumerate(scorings.items())
        ),
        queries=tuple(queries),
    )


def _system(title: str, step: int, num_concepts: int, scoring: Scoring, answers: Sequence[Answer]) -> System:
    hits = [hit for answer in answers for hit in answer.hits]
    return System(
        title=title,
        step=step,
        num_concepts=num_concepts,
        concept_weight=scoring.concept_weight,
        transform=scoring.transform,
        causality_few=_mean_std(hits, lambda hit: hit.causality_few),
        causality_many=_mean_std(hits, lambda hit: hit.causality_many),
        num_hits=len(hits),
    )


def _mean_std(hits: Sequence[HitExplanation], value: Callable[[HitExplanation], float]) -> tuple[float, float]:
    values = np.array([value(hit) for hit in hits], np.float64)
    return (float(values.mean()), float(values.std())) if len(values) else (0.0, 0.0)


def side_by_side(reports: Sequence[ExplainReport]) -> ExplainReport:
    """The answers of several models to the same queries beside each other (thesis, Figures 3.4 and 5.7).

    Each system has its own step, concepts and weight; those of the report itself are the first model's.
    """
    presets = [report.preset for report in reports]
    titles = model_titles(presets)
    return replace(
        reports[0],
        checkpoint=" · ".join(f"{title[0]} {report.checkpoint}" for title, report in zip(titles, reports, strict=True)),
        preset=" and ".join(dict.fromkeys(presets)),
        systems=tuple(replace(report.systems[0], title=title) for title, report in zip(titles, reports, strict=True)),
        queries=tuple(
            replace(same[0], answers=tuple(query.answers[0] for query in same))
            for same in zip(*(report.queries for report in reports), strict=True)
        ),
    )


def model_titles(presets: Sequence[str]) -> list[str]:
    """A title for each model of a page: a letter, where there are several, and its preset."""
    letters = [f"{chr(ord('A') + number)}: " for number in range(len(presets))] if len(presets) > 1 else [""]
    return [f"{letter}{preset}" for letter, preset in zip(letters, presets, strict=True)]
