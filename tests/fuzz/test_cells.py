"""A caption is a text that somebody wrote: what another type of value would look like in Python never becomes words."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fuzz.drawn import CELLS
from tests.fuzz.oracle import Tally
from tests.fuzz.worlds import ingest
from vtr_core.data.captions import video_captions
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.pairs import Captions


@pytest.mark.parametrize("suffix", CELLS)
def test_every_type_of_value(suffix: str, tmp_path: Path) -> None:
    """Alone in its column, which is then of its type, beside a row that is well."""
    tally = Tally()
    for number, (value, texts) in enumerate(CELLS[suffix]):
        table = tmp_path / f"{number}.{suffix}"
        _write(table, [{"id": "v1", "caption": value}])
        tally.run(f"{value!r}", partial(_read, table, texts), table.name, str(tmp_path / f"{number}-out"))
    tally.check(len(CELLS[suffix]))


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 1000), marks=pytest.mark.long)], ids=str)
def test_values_of_several_types(seeds: range, tmp_path: Path) -> None:
    tally = Tally()
    for seed in seeds:
        random = Random(seed)
        cells = [("stir it", ("stir it",)), *random.choices(CELLS["jsonl"], k=random.randint(1, 4))]
        random.shuffle(cells)
        table = tmp_path / f"{seed}.jsonl"
        _write(table, [{"id": f"v{row}", "caption": value} for row, (value, _) in enumerate(cells)])
        allowed = [text for _, texts in cells for text in texts]
        case = str([value for value, _ in cells])
        tally.run(case, partial(_read, table, allowed), table.name, str(tmp_path / f"{seed}-out"))
    tally.check(len(seeds))


def _write(table: Path, rows: Sequence[dict[str, Any]]) -> None:
    if table.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), table)
    else:
        table.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def _read(table: Path, allowed: Sequence[str]) -> None:
    """The captions that the table gives are among the allowed ones; none is a value's writing."""
    out = table.with_name(f"{table.stem}-out")
    ingest(Captions(table=str(table)), out, strict=False)
    for video in video_captions(Manifest.load(str(out))):
        assert set(video.captions) <= set(allowed), f"{video.captions}"
