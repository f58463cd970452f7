"""Events as people read them."""

import pytest

from pipelines.train.reports import counts_line, event_line

LINES = [
    ("started", {"step": 0, "workers": 1}, "started with 1 worker"),
    ("resumed", {"step": 12, "steps_lost": 3, "workers": 2}, "resumed at step 12 with 2 workers, 3 steps done again"),
    ("resumed", {"step": 12, "steps_lost": 0, "workers": 2}, "resumed at step 12 with 2 workers, no step done again"),
    ("restarted", {"reason": "r", "restarts_left": 1}, "starting again from the newest checkpoint: r (1 restart left)"),
    ("restarted", {"reason": "r", "workers": 2}, "starting again from the newest checkpoint: r"),
    (
        "not_finite",
        {"step": 3, "places": ["p"], "clips": ["c", "d"]},
        "step 3 skipped, its loss or gradient was not finite; it holds c, d",
    ),
    (
        "not_finite",
        {"step": 3, "places": ["p"], "clips": []},
        "step 3 skipped, its loss or gradient was not finite; it holds p",
    ),
    ("checkpoint_failed", {"step": 4, "reason": "full"}, "no checkpoint at step 4: full"),
    ("preempted", {"step": 4}, "preempted: ended at step 4, with a checkpoint"),
    ("bad_shard", {"file": "f", "row_group": 1, "reason": "r"}, "rows replaced in every batch: r"),
    ("waiting", {"workers": 2, "each": {"CPU": 1.0}}, "waiting for nodes with room for 2 workers"),
    ("scan", {"backend": "reference", "reason": "as configured"}, "selective scans by the reference: as configured"),
    ("worker_lost", {"reason": "r"}, "a worker was lost: r"),
    ("collapsed", {"step": 20, "what": "all is alike", "cause": "a high rate"}, "step 20: all is alike; a high rate"),
    (
        "at_chance",
        {"step": 70, "loss": 8.31, "chance": 8.318},
        "step 70: the loss, 8.31, is that of vectors which are all alike (8.318): nothing is learned",
    ),
    (
        "finished",
        {"step": 90, "at_chance": 8.3, "loss": 8.31},
        "finished at step 90; the loss, 8.31, is that of vectors which are all alike (8.3): nothing is learned",
    ),
    (
        "finished",
        {"step": 90, "at_chance": 8.3, "loss": 83.2},
        "finished at step 90; the loss, 83.2, is above that of vectors which are all alike (8.3): similarities are too "
        "far apart; go by the validation, and train longer",
    ),
    ("finished", {"step": 90, "at_chance": None, "loss": 2.0}, "finished at step 90"),
    ("something_else", {"a": 1, "b": "x"}, "something else, a 1, b x"),
]


@pytest.mark.parametrize(("event", "details", "line"), LINES)
def test_an_event_is_a_line(event: str, details: dict[str, object], line: str) -> None:
    assert event_line(event, details) == line


def test_faults_are_counted() -> None:
    assert counts_line({"started": 1, "not_finite": 2, "restarted": 1}) == "1 restarts, 2 skipped steps"
    assert counts_line({"started": 1, "finished": 1}) == ""
