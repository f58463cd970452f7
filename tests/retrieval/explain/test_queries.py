"""Queries from a file, with their right videos."""

import pytest

from vtr_core.errors import InputError
from vtr_core.retrieval.explain.explanation import LONGEST_QUERY, AskedQuery, asked_queries, parse_queries


def test_lines_with_and_without_a_video() -> None:
    content = "\ufeffa dog runs\tv1\n\n  a cat sleeps \na man cooks\t\n".encode()
    assert parse_queries(content, "q") == [("a dog runs", "v1"), ("a cat sleeps", None), ("a man cooks", None)]
    for content in (b"", b" \n\t\n"):
        with pytest.raises(InputError, match="holds no query"):
            parse_queries(content, "q")
    with pytest.raises(InputError, match="is not UTF-8"):
        parse_queries(b"\xff\xfe", "q")


def test_right_videos_are_named_or_carry_the_caption() -> None:
    given = [("a dog runs", None), ("anything", "v2"), ("a dog", None)]
    captions = ("a dog runs", "a cat", "a dog runs", " a dog runs ")
    found = asked_queries(given, ("v0", "v1", "v2"), captions, (2, 1, 2, 0))
    assert found == [AskedQuery("a dog runs", (0, 2)), AskedQuery("anything", (2,)), AskedQuery("a dog", ())]


def test_faults_are_named() -> None:
    with pytest.raises(InputError, match="no video 'v9' with features"):
        asked_queries([("a dog", "v9")], ("v0",), (), ())
    with pytest.raises(InputError, match="has 1001 characters; 1000 are allowed"):
        asked_queries([("a" * (LONGEST_QUERY + 1), None)], ("v0",), (), ())
