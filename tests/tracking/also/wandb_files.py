"""What the files of Weights & Biases hold that it writes without a network."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HEADER, _BLOCK = 7, 32768


def records(file: Path) -> Iterator[Any]:
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


def history(file: Path) -> list[dict[str, Any]]:
    """The values of each step, with `_step` and `_timestamp`."""
    rows = [record.history for record in records(file) if record.WhichOneof("record_type") == "history"]
    return [{"".join(item.nested_key): json.loads(item.value_json) for item in row.item} for row in rows]
