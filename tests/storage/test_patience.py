"""Back-off: how long is waited, for what, and when it is given up. Time and chance are given."""

from collections.abc import Callable

import pytest

from vtr_core.storage.fault import Fault, Patience, StorageError, given_patience, persist

AWAY, REFUSED = Fault("slowdown", 503), Fault("expiredtoken", 400)


class _FaultError(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.code)
        self.fault = fault


class _Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def patience(self, seconds: float, draw: Callable[[], float] = lambda: 1.0) -> Patience:
        return Patience(float(seconds), first_s=0.5, longest_s=4.0, draw=draw, sleep=self.sleep, now=lambda: self.time)


def _judge(error: Exception) -> Fault | None:
    return error.fault if isinstance(error, _FaultError) else None


def _give_up(fault: Fault, tried_s: float) -> StorageError:
    return StorageError(f"{fault.code} after {tried_s:g} s")


def _failing(faults: list[Fault]) -> Callable[[], str]:
    def operation() -> str:
        if faults:
            raise _FaultError(faults.pop(0))
        return "done"

    return operation


def test_delays_double_up_to_the_longest() -> None:
    clock = _Clock()
    assert persist(_failing([AWAY] * 6), _judge, _give_up, clock.patience(100), "x") == "done"
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0]


def test_jitter_takes_any_part_of_a_delay() -> None:
    clock, drawn = _Clock(), iter([0.0, 0.25, 0.999])
    persist(_failing([AWAY] * 3), _judge, _give_up, clock.patience(100, lambda: next(drawn)), "x")
    assert clock.slept == [0.0, 0.25, pytest.approx(1.998)]


def test_it_is_given_up_before_a_wait_beyond_the_limit() -> None:
    clock = _Clock()
    with pytest.raises(StorageError, match=r"slowdown after 7.5 s") as raised:
        persist(_failing([AWAY] * 99), _judge, _give_up, clock.patience(8), "x")
    assert clock.slept == [0.5, 1.0, 2.0, 4.0]
    assert raised.value.__suppress_context__  # what the store said may quote keys


def test_what_is_refused_is_not_tried_again() -> None:
    clock, faults = _Clock(), [REFUSED, REFUSED]
    with pytest.raises(StorageError, match="expiredtoken after 0 s"):
        persist(_failing(faults), _judge, _give_up, clock.patience(100), "x")
    assert len(faults) == 1
    assert not clock.slept


def test_errors_of_another_kind_pass() -> None:
    def operation() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        persist(operation, _judge, _give_up, _Clock().patience(100), "x")


def test_after_any_number_of_attempts_the_delay_is_a_number() -> None:
    assert Patience(1e9, draw=lambda: 1.0).delay(100_000) == Patience(1e9).longest_s


def test_it_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTR_S3_PATIENCE_S", "7")
    assert given_patience() == Patience(7.0)
