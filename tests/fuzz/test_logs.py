"""The logs of a run that is resumed: lines that are no points are dropped, never a crash."""

import json
from functools import partial
from pathlib import Path
from random import Random

from tests.fuzz.mutations import change_value, clear, damage, few_or_many
from tests.fuzz.oracle import Tally
from vtr_core.storage import locate
from vtr_core.tracking.run_log import EventLog, MetricLog


@few_or_many
def test_logs(seeds: range, tmp_path: Path) -> None:
    tally = Tally()
    for seed in seeds:
        random = Random(seed)
        root = tmp_path / str(seed) / "in"
        root.mkdir(parents=True)
        for name in ("metrics.jsonl", "events.jsonl"):
            lines = [{"step": step, "time": 1.0, "event": "started", "train/loss": 0.5} for step in (1, 2, 3)]
            if random.random() < 0.5:
                change_value(random.choice(lines), random)
            (root / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = damage(root, random)
        tally.run(f"{seed} {done.change} {done.file.name}", partial(_resume, root), str(root))
        clear(root.parent)
    assert not tally.faults, "\n".join(tally.faults[:20])
    assert tally.succeeded >= len(seeds) / 2


def _resume(root: Path) -> None:
    log = MetricLog(locate(root / "metrics.jsonl"), None, after_step=2)
    log.add({"train/loss": 0.25}, 3)
    log.close()
    events = EventLog(locate(root / "events.jsonl"))
    events.add("resumed", step=2)
    assert events.read()[-1]["event"] == "resumed"
