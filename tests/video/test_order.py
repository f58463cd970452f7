"""Frames come in order of presentation; times that are not in order are put so."""

from random import Random

from vtr_core.video.decoding import DEPTH, OrderedTimes


def test_times_in_order_stay_with_their_frames() -> None:
    assert _given([0.0, 0.04, 0.5, 0.5, 9.0]) == [0.0, 0.04, 0.5, 0.5, 9.0]


def test_times_a_few_frames_off_are_put_in_order() -> None:
    times = [float(t) for t in range(40)]
    shaken = [t for first in range(0, 40, DEPTH) for t in Random(first).sample(times[first : first + DEPTH], DEPTH)]
    assert shaken != times
    assert _given(shaken) == times


def _given(times: list[float]) -> list[float]:
    order: OrderedTimes[int] = OrderedTimes()
    found = [pair for frame, time in enumerate(times) for pair in order.add(frame, time)]
    found += order.rest()
    assert [frame for frame, _ in found] == list(range(len(times)))
    return [time for _, time in found]
