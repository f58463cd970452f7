"""Which faults end a run, and how many of the others it survives."""

import pytest
from ray.exceptions import NodeDiedError
from ray.train import ControllerError, WorkerGroupError

from vtr_core.errors import DatasetError, TrainingError
from vtr_core.train.fleet.worker_group import RestartBudget, fault


def test_a_lost_worker_is_named_rather_than_those_who_missed_it() -> None:
    failures: dict[int, Exception] = {0: RuntimeError("Connection closed by peer"), 1: NodeDiedError("the node died")}
    reason = fault(WorkerGroupError("", failures), workers=2)
    assert reason.startswith("worker 1: ")
    assert "node died" in reason


def test_a_broken_collective_counts_as_a_loss_only_among_several() -> None:
    error = WorkerGroupError("", {0: RuntimeError("Connection closed by peer")})
    assert fault(error, workers=2) == "worker 0: Connection closed by peer"
    with pytest.raises(WorkerGroupError):
        fault(error, workers=1)


def test_a_fault_of_the_user_or_of_the_code_ends_the_run() -> None:
    failures: dict[int, Exception] = {0: NodeDiedError("lost"), 1: DatasetError("part-3 is damaged")}
    with pytest.raises(DatasetError, match="part-3"):
        fault(WorkerGroupError("", failures), workers=2)
    with pytest.raises(WorkerGroupError):
        fault(WorkerGroupError("", {0: KeyError("x")}), workers=2)


def test_a_group_that_could_not_begin_is_tried_again() -> None:
    assert fault(ControllerError(TimeoutError("no room in 30 s")), workers=2).startswith("no room in 30 s")


def test_restarts_are_counted_from_one_checkpoint() -> None:
    budget = RestartBudget(2)
    assert [budget.spend("step-1", "lost"), budget.spend("step-1", "lost")] == [1, 0]
    with pytest.raises(TrainingError, match=r"lost 3 times from step-1 \(scaling.max_restarts = 2\): a node died"):
        budget.spend("step-1", "a node died")
    assert [budget.spend(f"step-{number}", "lost") for number in range(2, 50)] == [1] * 48
    with pytest.raises(TrainingError, match="lost 1 times from the beginning"):
        RestartBudget(0).spend(None, "lost")
