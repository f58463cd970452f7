"""A session answers as the report does, and computes nothing twice."""

import json

import pytest

from tests.builders.dual_toys import hybrid, query, report, videos
from vtr_core.analysis.transforms import Transform
from vtr_core.errors import InputError, VtrError
from vtr_core.retrieval.explain.explained_queries import ExplainSession
from vtr_core.retrieval.explain.explanation import ExplainOptions
from vtr_core.retrieval.explain.hits import percent


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def session(asked: list[str]) -> ExplainSession:
    def embed(text: str):  # type: ignore[no-untyped-def]
        if text == "zzz":
            raise InputError("no word of the query is known")
        asked.append(text)
        return query(text, seed=0)

    return ExplainSession(videos(), hybrid(), embed, {"a dog runs": [2]}, ExplainOptions(hits=3, tags=5))


def test_answers_are_those_of_the_report(session: ExplainSession) -> None:
    expected = report(improved=Transform("jaccard", 3.0, 0.0, 2.0)).queries[0]
    for place, values in enumerate(((1.0, 0.0, 1.0), (3.0, 0.0, 2.0))):
        found, answer = session.search(" a dog runs ", *values), expected.answers[place]
        assert found["right_rank"] == answer.right_rank
        assert [hit["video_id"] for hit in found["hits"]] == [hit.video_id for hit in answer.hits]
        assert [hit["score"] for hit in found["hits"]] == [hit.score for hit in answer.hits]
        assert [hit["causality_few"] for hit in found["hits"]] == [percent(hit.causality_few) for hit in answer.hits]
        drawn = [[tag["name"] for tag in hit["contributions"]] for hit in found["hits"]]
        assert drawn == [[tag.name for tag in hit.contributions] for hit in answer.hits]
        json.dumps(found, allow_nan=False)


def test_a_query_is_embedded_once(session: ExplainSession, asked: list[str]) -> None:
    for scale in (1.0, 2.0, 3.0):
        session.search("a dog runs", scale, 0.0, 1.0)
    session.search("a cat", 1.0, 0.0, 1.0)
    assert asked == ["a dog runs", "a cat"]


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("  ", (1.0, 0.0, 1.0), "the query is empty"),
        ("a" * 1001, (1.0, 0.0, 1.0), "1000 are allowed"),
        ("zzz", (1.0, 0.0, 1.0), "no word of the query"),
        ("a dog", (0.0, 0.0, 1.0), "scale"),
        ("a dog", (1.0, 0.0, -1.0), "power"),
        ("a dog", (1.0, float("nan"), 1.0), "shift"),
    ],
)
def test_faults_are_named(session: ExplainSession, text: str, values: tuple[float, ...], message: str) -> None:
    with pytest.raises(VtrError, match=message):
        session.search(text, *values)
