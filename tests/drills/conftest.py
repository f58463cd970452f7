"""Collects what the drills showed, prints it as a table and, with DRILL_TABLE=FOLDER, keeps it there."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.drills import nodes, runs, table
from tests.drills.table import Outcome
from tests.local_cluster.cluster import LocalCluster
from vtr_core.run.config import TrainConfig

Undisturbed = Callable[..., Path]
"""Gives the run of a configuration, by default `runs.config()`."""
_OUTCOMES = pytest.StashKey[list[Outcome]]()


@dataclass(frozen=True)
class Record:
    """Adds rows to the table of drills."""

    outcomes: list[Outcome]

    def __call__(
        self, fault: str, recovered: str, run: Path | None = None, since: float = 0.0, *, lost: int | None = None,
        seconds: float | None = None,
    ) -> None:  # fmt: skip
        """With a run, which began again after the fault at time `since`, the steps and the seconds that this cost."""
        if run is not None:
            lost = runs.steps_lost(run) if lost is None else lost
            seconds = runs.seconds_to_recover(run, since) if seconds is None else seconds
        self.outcomes.append(Outcome(fault, recovered, lost or 0, seconds))


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Record:
    return Record(request.config.stash.setdefault(_OUTCOMES, []))


@pytest.fixture(scope="session")
def undisturbed(world: Path, local_ray: None, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Makes an undisturbed run with a configuration, once for all drills that compare with it."""
    from pipelines.train.command import TrainFlags, train

    made: dict[str, Path] = {}

    def run(wanted: TrainConfig | None = None) -> Path:
        wanted = wanted or runs.config()
        key = wanted.model_dump_json()
        if key not in made:
            made[key] = tmp_path_factory.mktemp("undisturbed") / "run"
            train(wanted, TrainFlags(data=str(world), out=str(made[key]), experiment="drills"))
        return made[key]

    return run


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two nodes on this machine, for all drills of a file."""
    with LocalCluster([nodes.HEAD, nodes.OTHER], environment=nodes.ONE_THREAD) as running:
        yield running


@pytest.fixture(scope="module")
def expected(undisturbed: Undisturbed) -> Path:
    """The undisturbed run that drills on several nodes are compared with."""
    return undisturbed(nodes.local(nodes.config()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    outcomes = config.stash.get(_OUTCOMES, [])
    if not outcomes:
        return
    terminalreporter.section("drills")
    for line in table.lines(outcomes):
        terminalreporter.write_line(line)
    folder = os.environ.get("DRILL_TABLE")
    if folder:
        table.write(outcomes, Path(folder))
