"""Which faults end a run, and how many of the others it survives."""

import pytest
from ray.exceptions import NodeDiedError
from ray.train import ControllerError, WorkerGroupError

from vtr_core import ray_private
from vtr_core.errors import DatasetError, TrainingError
from vtr_core.train.fleet.worker_group import Fault, RestartBudget, fault

LOST = Fault("a node died", began=True)


def test_a_lost_worker_is_named_rather_than_those_who_missed_it() -> None:
    failures: dict[int, Exception] = {0: RuntimeError("Connection closed by peer"), 1: NodeDiedError("the node died")}
    found = fault(WorkerGroupError("", failures), workers=2)
    assert found.began
    assert found.reason.startswith("worker 1: ")
    assert "node died" in found.reason


def test_a_broken_collective_counts_as_a_loss_only_among_several() -> None:
    error = WorkerGroupError("", {0: RuntimeError("Connection closed by peer")})
    assert fault(error, workers=2) == Fault("worker 0: Connection closed by peer", began=True)
    with pytest.raises(WorkerGroupError):
        fault(error, workers=1)


def test_a_fault_of_the_users_ends_the_run() -> None:
    failures: dict[int, Exception] = {0: NodeDiedError("lost"), 1: DatasetError("part-3 is damaged")}
    with pytest.raises(DatasetError, match="part-3"):
        fault(WorkerGroupError("", failures), workers=2)


def test_a_fault_of_the_code_ends_the_run() -> None:
    with pytest.raises(WorkerGroupError):
        fault(WorkerGroupError("", {0: KeyError("x")}), workers=2)


def test_a_group_that_could_not_begin() -> None:
    found = fault(ControllerError(ray_private.start_timeout()(2)), workers=2)
    assert not found.began
    assert found.reason.startswith("The worker group startup timed out")


def test_restarts_are_counted_from_one_checkpoint() -> None:
    budget = RestartBudget(2)
    assert [budget.spend("step-1", LOST), budget.spend("step-1", LOST)] == [1, 0]
    with pytest.raises(TrainingError, match=r"lost 3 times from step-1 \(scaling.max_restarts = 2\): a node died"):
        budget.spend("step-1", LOST)


def test_a_new_checkpoint_renews_them() -> None:
    budget = RestartBudget(1)
    assert [budget.spend(f"step-{number}", LOST) for number in range(50)] == [0] * 50


def test_the_beginning_is_a_place_too() -> None:
    with pytest.raises(TrainingError, match="lost 1 times from the beginning"):
        RestartBudget(0).spend(None, LOST)
