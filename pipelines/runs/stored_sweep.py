"""A sweep as its folder holds it: its space, how many of its trials ended, whether it was concluded."""

from dataclasses import dataclass

from pipelines.runs.stored_run import State, state_of
from pipelines.sweep.folder import ENDED, SweepFolder, SweepRecord, TrialRow, TrialTable
from vtr_core import storage
from vtr_core.storage import Location, locate


@dataclass(frozen=True)
class StoredSweep:
    """The content of a sweep's folder beside its trials' own folders."""

    uri: str
    record: SweepRecord
    trials: tuple[TrialRow, ...]
    state: State
    """Finished once its results are written."""

    @property
    def ended(self) -> int:
        """The number of trials that finished or were stopped by the scheduler."""
        return sum(trial.state in ENDED for trial in self.trials)

    @property
    def failed(self) -> int:
        """The number of trials that failed; resumption tries them again."""
        return sum(trial.state == "failed" for trial in self.trials)

    @property
    def best(self) -> float | None:
        """The best value of the metric by which trials are compared; None before the first validation."""
        return max((trial.objective for trial in self.trials if trial.objective is not None), default=None)


def sweeps_in(folder: str) -> list[StoredSweep]:
    """The sweeps directly in a folder, in the order in which they began."""
    found = [_stored(child) for child in storage.children(locate(folder)) if storage.exists(child / "sweep.json")]
    return sorted(found, key=lambda sweep: sweep.record.started)


def _stored(place: Location) -> StoredSweep:
    state = state_of(place, finished=storage.exists(place / "best_trials.json"))
    return StoredSweep(place.uri, SweepFolder(place).record(), tuple(TrialTable(place).rows), state)
