"""A run of Weights & Biases without a network: what its folder holds."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.optional import optional
from tests.tracking.also.pages import page, points
from vtr_core.tracking.also.tracker import open_tracker

_HEADER, _BLOCK = 7, 32768


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    wandb = optional("wandb", "wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    return wandb


def _records(file: Path) -> Iterator[Any]:
    """The records of a .wandb file: LevelDB's log format behind a header of 7 bytes; a part is (crc, length, type)."""
    from wandb.proto.wandb_internal_pb2 import Record

    content, place, parts = file.read_bytes(), _HEADER, b""
    while place + _HEADER <= len(content):
        if _BLOCK - place % _BLOCK < _HEADER:
            place += _BLOCK - place % _BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", content, place)
        parts += content[place + _HEADER : place + _HEADER + length]
        place += _HEADER + length
        if kind in (1, 4):  # whole, or last
            record = Record()
            record.ParseFromString(parts)
            yield record
            parts = b""


@pytest.mark.long
def test_the_offline_folder_holds_the_run(offline: Any, tmp_path: Path) -> None:
    run = open_tracker("wandb", page(tmp_path / "run", group="sweep-1"))
    assert run.steps("train/loss") == set()
    run.log_points(points(1, 2))
    run.log_points(points(5))
    run.finish("FAILED")
    (file,) = (tmp_path / "run" / "wandb").glob("offline-run-*/run-0123456789abcdef.wandb")
    records = list(_records(file))
    (about,) = (record.run for record in records if record.WhichOneof("record_type") == "run")
    assert (about.run_id, about.project, about.display_name, about.run_group) == (
        "0123456789abcdef",
        "vtr",
        "abcdefg-tiny",
        "sweep-1",
    )
    config = {item.key: json.loads(item.value_json) for item in about.config.update}
    assert (config["batch.videos"], config["data"]) == (8, "s3://key:***@host/data")
    history = [record.history for record in records if record.WhichOneof("record_type") == "history"]
    rows = [{"".join(item.nested_key): json.loads(item.value_json) for item in row.item} for row in history]
    assert [(row["_step"], row["train/loss"], row["train/data_wait"], row["_timestamp"]) for row in rows] == [
        (1, 1.0, 0.5, 1001.0),
        (2, 0.5, 1 / 3, 1002.0),
        (5, 0.2, 1 / 6, 1005.0),
    ]
    (end,) = (record.exit for record in records if record.WhichOneof("record_type") == "exit")
    assert end.exit_code == 1
