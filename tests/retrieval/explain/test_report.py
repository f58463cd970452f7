"""The report and its page: what was computed comes out, once for each system."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.builders.dual_toys import hybrid, query, report, videos
from vtr_core.analysis.transforms import Transform
from vtr_core.embedding.video_ranking import Scoring, prepare, rank_of
from vtr_core.errors import ConfigError
from vtr_core.retrieval.explain.explained_queries import explainable
from vtr_core.retrieval.explain.explanation import ExplainOptions, ExplainReport
from vtr_core.retrieval.explain.pages import read_pictures, render_explanations

SHARP = Transform("jaccard", 3.0, 0.0, 2.0)


def page(found: ExplainReport) -> str:
    shown = [hit.video_id for asked in found.queries for answer in asked.answers for hit in answer.hits]
    return render_explanations(found, read_pictures(None, shown))


def test_both_systems_rank_anew() -> None:
    found = report(improved=SHARP)
    assert [system.title for system in found.systems] == ["original", "improved"]
    for place, transform in enumerate((Transform("jaccard"), SHARP)):
        scoring = replace(hybrid(), transform=transform)
        scores = prepare(videos(), scoring).score(query("a dog runs", seed=0))
        answer = found.queries[0].answers[place]
        assert answer.right_rank == rank_of(scores, np.array([2]))
        assert [hit.score for hit in answer.hits] == sorted(scores.total.tolist(), reverse=True)[:3]
    assert found.systems[1].causality_few[0] > found.systems[0].causality_few[0]
    assert [answer.right_rank for answer in found.queries[1].answers] == [None, None]


def test_the_page_s_causality_is_the_mean_of_its_hits() -> None:
    found = report()
    (system,) = found.systems
    few = [hit.causality_few for asked in found.queries for hit in asked.answers[0].hits]
    assert system.num_hits == len(few) == 6
    assert system.causality_few == pytest.approx((np.mean(few), np.std(few)))
    assert found.concept_weight == pytest.approx(0.4)


def test_the_page_holds_what_the_json_holds() -> None:
    found = report(improved=SHARP)
    html, values = page(found), json.loads(json.dumps(found.to_json()))
    assert html.count('<li class="card hit') == 12
    assert html.count('<div class="cloud">') == 4 * 12
    for asked in values["queries"]:
        assert asked["text"] in html
        for answer in asked["answers"]:
            assert all(f"score {hit['score']:.3f}" in html for hit in answer["hits"])
    assert "as trained (a = 1, b = 0, p = 1)" in html
    assert "a = 3, b = 0, p = 2" in html
    assert "right video on rank" in html
    assert "the right video is not known" in html


def test_the_page_needs_nothing_else_and_runs_nothing() -> None:
    html = page(report(improved=SHARP))
    assert not re.findall(r"<(?:script|link|iframe|object)\b", html)
    assert all(target.startswith(("#frame-", "data:image/")) for target in re.findall(r'(?:href|src)="([^"]*)"', html))
    assert "default-src 'none'" in html


def test_what_explains_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="latent space does not have"):
        explainable(replace(videos(), concept=None), hybrid())
    with pytest.raises(ConfigError, match="latent space does not have"):
        explainable(videos(), Scoring("latent", Transform("jaccard")))
    with pytest.raises(ConfigError, match="--k is 0; it must be from 1"):
        ExplainOptions(hits=0)
    with pytest.raises(ConfigError, match="--tags is 31; it must be from 1 to 30"):
        ExplainOptions(tags=31)
