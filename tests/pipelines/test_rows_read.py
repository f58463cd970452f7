"""How far a data set has been read is told in rows, and nothing where its row groups are not read."""

from pathlib import Path

import pytest

from pipelines.evaluation_inputs import RowsRead
from tests.builders.toy import toy_dataset
from vtr_core.data.plan import row_groups


def test_rows_are_counted_as_their_row_groups_are_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = toy_dataset(tmp_path / "d")[0]
    places = row_groups(manifest)
    with RowsRead(manifest) as read:
        first, rest = read.watch(places[:1]), read.watch(places[1:])
        assert [*first, *rest] == places
        assert (first[0], len(rest), rest[:1]) == (places[0], len(places) - 1, places[1:2])
    assert f"{manifest.rows} of {manifest.rows} rows" in capsys.readouterr().out


def test_what_is_not_read_is_not_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = toy_dataset(tmp_path / "d")[0]
    with RowsRead(manifest):
        pass
    with RowsRead(manifest) as read:
        read.watch(row_groups(manifest))
    assert capsys.readouterr().out == ""
