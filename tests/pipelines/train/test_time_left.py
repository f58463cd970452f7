"""Time left of a training, from its reports."""

from itertools import count
from typing import Any

import pytest

from pipelines.train.reports import TimeLeft


def test_the_first_steps_say_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """Steps of ten seconds each, from the first report on; what a restart does again is not counted twice."""
    clock = count(0.0, 10.0)
    taken: list[dict[str, Any]] = []
    steps = [{"step": step, "total_steps": 1000} for step in (100, 101, 102)]
    with TimeLeft(lambda: next(clock)) as left:
        watched = left.watching(taken.append)
        for report in ({"event": "started"}, *steps, {"event": "restarted"}, *steps[:2]):
            watched(report)
    assert taken == [{"event": "started"}, *steps, {"event": "restarted"}, *steps[:2]]
    said = capsys.readouterr().out.splitlines()
    assert said == ["  101 of 1,000 steps; 0.1 a second; 2.5 h left"] * 2
