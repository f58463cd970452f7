"""What the setting means on clusters with and without nodes for reading, and whether a run fits on them."""

from typing import Any

import pytest
from ray._private.label_utils import validate_label_selector

from vtr_core.config.run import ReadingNodes, ScalingConfig
from vtr_core.train.fleet.placement import (
    LABEL,
    READING,
    Placement,
    Room,
    resolve,
    room_of,
)


def _node(cpus: float, gpus: float = 0.0, role: str | None = None, alive: bool = True) -> dict[str, Any]:
    resources = {"CPU": cpus, **({"GPU": gpus} if gpus else {})}
    return {"Alive": alive, "Resources": resources, "Labels": {LABEL: role} if role else {}}


HEAD, GPU, CPU = _node(0.0), _node(8.0, 2.0, "training"), _node(4.0, role=READING)
GONE = _node(4.0, role=READING, alive=False)


@pytest.mark.parametrize(
    ("wanted", "nodes", "expected"),
    [
        ("auto", [HEAD, GPU, CPU], Placement(True, 1)),
        ("auto", [HEAD, GPU, GONE], Placement(False, 0)),
        ("any", [HEAD, GPU, CPU], Placement(False, 1)),
        ("labelled", [HEAD, GPU, CPU, CPU], Placement(True, 2)),
        ("labelled", [HEAD, GPU], Placement(True, 0)),
    ],
)
def test_what_the_setting_means(wanted: ReadingNodes, nodes: list[dict[str, Any]], expected: Placement) -> None:
    assert resolve(wanted, nodes) == expected


def test_selectors_keep_reading_and_workers_apart() -> None:
    apart = Placement(True, 1)
    assert (apart.reading, apart.workers) == ({"vtr-role": "reading"}, {"vtr-role": "!reading"})
    assert (Placement().reading, Placement().workers) == ({}, {})
    assert not [message for each in (apart.reading, apart.workers) if (message := validate_label_selector(each))]


def test_an_autoscaler_may_go_on() -> None:
    limits = {"CPU": 100.0, "GPU": 1.0, "memory": 1.0}
    assert room_of(Placement(True, 1), [HEAD, GPU, CPU], limits) == Room(cpus=100.0, gpus=2.0)


@pytest.mark.parametrize(
    ("room", "workers", "holds"),
    [
        (Room(6.0, 0.0), 4, True),
        (Room(6.0, 0.0), 5, False),
        (Room(6.0, 0.0, reading_cpus=2.0), 4, True),
        (Room(6.0, 0.0, reading_cpus=2.0), 5, False),
        (Room(9.0, 0.0, reading_cpus=1.0), 4, False),
    ],
)
def test_workers_and_reading_both_need_room(room: Room, workers: int, holds: bool) -> None:
    assert room.holds(ScalingConfig(workers=workers, cpus_per_worker=1, reading_cpus=2), workers) is holds


@pytest.mark.parametrize(
    ("room", "gpu", "runs"),
    [
        (Room(11.0, 0.0), False, 2),
        (Room(12.0, 0.0), False, 3),
        (Room(12.0, 5.0), True, 2),
        (Room(12.0, 0.0, reading_cpus=4.0), False, 2),
        (Room(16.0, 0.0, reading_cpus=8.0), False, 4),
    ],
)
def test_every_run_reads_for_itself(room: Room, gpu: bool, runs: int) -> None:
    assert room.runs(ScalingConfig(workers=2, cpus_per_worker=1, reading_cpus=2), gpu) == runs
