"""Names are unique, fit where they are used, and lead back to their cluster."""

from pathlib import Path

import pytest

from tests.local_cluster import naming
from tests.local_cluster.naming import Names, existing


def test_names_fit_and_differ() -> None:
    names = Names.fresh()
    assert names != Names.fresh()
    interfaces = [names.bridge, *(names.host_interface(index) for index in range(200))]
    assert max(map(len, interfaces)) <= 15
    assert len({names.node(index) for index in range(200)}) == 200


def test_nothing_else_is_taken_for_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "ROOT", tmp_path)
    for folder in ("vtr-00000001", "vtr-00000002", "vtr-demo", "vtr-0123456g"):
        (tmp_path / folder).mkdir()
    for folder in ("vtr-00000001", "vtr-demo", "vtr-0123456g"):
        (tmp_path / folder / "cluster.json").touch()
    assert existing() == [Names("00000001")]
