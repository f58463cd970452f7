"""Events are kept over sessions and counted within one."""

import json
from pathlib import Path

from vtr_core.storage import locate
from vtr_core.tracking.run_log import EventLog


def test_events_have_time_and_details_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "run" / "events.jsonl"
    log = EventLog(locate(str(path)))
    log.add("started", step=0, workers=2)
    log.add("not_finite", step=3, clips=["c"])
    log.add("not_finite", step=4, clips=[])
    assert log.counts == {"started": 1, "not_finite": 2}
    again = EventLog(locate(str(path)))
    again.add("resumed", step=2, steps_lost=2, workers=1)
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert found == again.read()
    assert [event["event"] for event in found] == ["started", "not_finite", "not_finite", "resumed"]
    assert found[1] == {"time": found[1]["time"], "event": "not_finite", "step": 3, "clips": ["c"]}
    assert found[0]["time"] <= found[3]["time"]
    assert again.counts == {"resumed": 1}
