"""Each world is made when the first preset needs it."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.crossing.worlds import WORLDS


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a world's splits, by its name."""

    @cache
    def made(name: str) -> Path:
        out = tmp_path_factory.mktemp(name) / "data"
        WORLDS[name](out)
        return out

    return made
