"""Reports of queries with explained hits, under the model's scores and a transform."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

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
    Tag,
    sized,
)
from vtr_core.retrieval.explain.hits import explain_hits
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
    videos, scoring = system.videos, system.scoring
    scores = system.score(query, latent)
    positions = ranked(scores, scoring, options.hits)
    hits = explain_hits(
        positions,
        scores,
        system.compared[positions],
        scoring.transform.apply(query.concept),
        scoring,
        concepts=videos.concepts,
        video_ids=videos.video_id,
        right=right,
        num_tags=options.tags,
    )
    return Answer(rank_of(scores, np.array(right)) if right else None, hits)


def explain_report(
    described: Described,
    videos: DualVideos,
    asked: Sequence[AskedQuery],
    queries: Sequence[DualQuery],
    scoring: Scoring,
    improved: Transform | None,
    options: ExplainOptions,
) -> ExplainReport:
    """Explained results of all queries under the trained model and, if given, under the improved transform.

    `scoring` has the transform of the first system. A system's causality is the mean over all its hits on the page.
    """
    scorings = [scoring] if improved is None else [scoring, replace(scoring, transform=improved)]
    systems = [explainable(videos, one) for one in scorings]
    explained = []
    for given, query in zip(asked, queries, strict=True):
        latent = latent_scores(videos, query)
        answers = tuple(answer(system, query, given.right, options, latent) for system in systems)
        explained.append(QueryExplanation(given.text, tuple(videos.video_id[i] for i in given.right), answers))
    titles = ("original", "improved")
    return ExplainReport(
        checkpoint=described.checkpoint,
        preset=described.preset,
        step=described.step,
        data=described.data,
        num_videos=len(videos.video_id),
        num_concepts=len(videos.concepts),
        space=scoring.space,
        latent_weight=scoring.latent_weight,
        options=options,
        systems=tuple(
            _system(titles[i], described.step, len(videos.concepts), one, [query.answers[i] for query in explained])
            for i, one in enumerate(scorings)
        ),
        queries=tuple(explained),
    )


def zero_shot_report(
    described: Described, searcher: JointSearcher, items: Items, asked: Sequence[AskedQuery], options: ExplainOptions
) -> ExplainReport:
    """Explained results of an index whose model names concepts, under its own similarity Σ_i z_i q_i.

    InputError for an empty query.
    """
    scoring = Scoring("concept", Transform("dot"))
    explained = []
    for given in asked:
        positions = searcher.ranking(given.text, len(items) if given.right else options.hits)
        hits = searcher.explained(given.text, positions[: options.hits], options.tags, given.right)
        if hits is None:
            raise InputError("a query is empty; say what the video shows")
        places = np.flatnonzero(np.isin(positions, given.right))
        right = tuple(item.item_id for item in items.at(list(given.right)))
        explained.append(QueryExplanation(given.text, right, (Answer(int(places[0]) + 1 if right else None, hits),)))
    answers = [query.answers[0] for query in explained]
    return ExplainReport(
        checkpoint=described.checkpoint,
        preset=described.preset,
        step=described.step,
        data=described.data,
        num_videos=len(items),
        num_concepts=len(searcher.concepts),
        space="concept",
        latent_weight=0.0,
        options=options,
        systems=(_system("zero-shot", described.step, len(searcher.concepts), scoring, answers),),
        queries=tuple(explained),
    )


def side_by_side(reports: Sequence[ExplainReport]) -> ExplainReport:
    """The answers of several models to the same queries beside each other (thesis, Figures 3.4 and 5.7).

    Each system has its own step, concepts and weight; those of the report itself are the first model's.
    """
    first = reports[0]
    presets = [report.preset for report in reports]
    titles = model_titles(presets)
    queries = [
        replace(alike[0], answers=tuple(one.answers[0] for one in alike))
        for alike in zip(*(report.queries for report in reports), strict=True)
    ]
    return replace(
        first,
        checkpoint=" · ".join(f"{title[0]} {report.checkpoint}" for title, report in zip(titles, reports, strict=True)),
        preset=" and ".join(dict.fromkeys(presets)),
        systems=tuple(replace(one.systems[0], title=title) for title, one in zip(titles, reports, strict=True)),
        queries=tuple(queries),
    )


def model_titles(presets: Sequence[str]) -> list[str]:
    """A title for each model of a page: a letter, where there are several, and its preset."""
    letters = [f"{chr(ord('A') + number)}: " for number in range(len(presets))] if len(presets) > 1 else [""]
    return [f"{letter}{preset}" for letter, preset in zip(letters, presets, strict=True)]


def _system(title: str, step: int, num_concepts: int, scoring: Scoring, answers: Sequence[Answer]) -> System:
    hits = [hit for one in answers for hit in one.hits]
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


def sized_tags(tags: Sequence[Tag]) -> list[dict[str, Any]]:
    """The tags of a cloud with their sizes, as JSON."""
    return [{**asdict(one.tag), "text": one.text, "size": one.size} for one in sized(tags)]
