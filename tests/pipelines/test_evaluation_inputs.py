"""Short names of data sets tell them apart, MLflow takes them; the rows read are counted."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.evaluate.evaluation_flags import RowsRead, short_names
from tests.builders.toy import toy_dataset
from vtr_core.data.plan import row_groups


@dataclass
class _Named:
    uri: str


@pytest.mark.parametrize(
    ("uris", "names"),
    [
        (["/data/val"], ["val"]),
        (["/data/val", "/data/test/"], ["val", "test"]),
        (["/a/val", "/b/val"], ["a-val", "b-val"]),
        (["data/clips/val", "old/clips/val"], ["data-clips-val", "old-clips-val"]),
        (["/a/val", "/a/val"], ["a-val-1", "a-val-2"]),
        (["/data/val (1)", "/data/val: 2"], ["val _1_", "val_ 2"]),
        (["s3://b/val?endpoint_override=http://minio:9000&scheme=http"], ["val"]),
    ],
)
def test_names_differ_and_are_names(uris: list[str], names: list[str]) -> None:
    manifests: Any = [_Named(uri) for uri in uris]
    assert short_names(manifests) == names


def test_rows_are_counted_as_their_row_groups_are_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = toy_dataset(tmp_path / "d")[0]
    places = row_groups(manifest)
    with RowsRead(manifest) as read:
        read.watch(places)
    assert capsys.readouterr().out == "", "nothing was read"
    with RowsRead(manifest) as read:
        first, rest = read.watch(places[:1]), read.watch(places[1:])
        assert [*first, *rest] == places
        assert (first[0], len(rest), rest[:1]) == (places[0], len(places) - 1, places[1:2])
    assert f"{manifest.rows} of {manifest.rows} rows" in capsys.readouterr().out
