"""Collects what the drills showed, prints it as a table and, with DRILL_TABLE=FOLDER, keeps it there."""

from collections.abc import Callable

import pytest

from tests.drills.outcome import Outcome

_OUTCOMES = pytest.StashKey[list[Outcome]]()


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[[Outcome], None]:
    """Adds a row to the table of drills."""
    return request.config.stash.setdefault(_OUTCOMES, []).append
