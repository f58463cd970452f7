"""Further films are named by the tables that they lie in."""

import pytest

from benchmarks.films.__main__ import Flags, _tables, main
from pipelines.arguments import parse
from vtr_core.errors import ConfigError


def test_tables_of_further_films_have_names() -> None:
    flags = parse(Flags, ["--csv", "kept=a/films.csv", "more=b=c.csv"], "films")
    assert _tables(flags.csv) == {"kept": "a/films.csv", "more": "b=c.csv"}
    for wrong in (["a/films.csv"], ["test=a.csv"], ["=a.csv"], ["kept=a.csv", "kept=b.csv"]):
        with pytest.raises(ConfigError, match="--csv takes NAME=TABLE"):
            _tables(wrong)


def test_further_films_are_for_the_world_of_films() -> None:
    with pytest.raises(ConfigError, match="--csv gives further films, which msrvtt-800 does not train for"):
        main(["--world", "msrvtt-800", "--csv", "kept=a.csv"])
