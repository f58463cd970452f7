"""Names are unique, fit where they are used, and lead back to their cluster."""

from pathlib import Path

import pytest

from cluster import naming
from cluster.naming import Names, existing
from vtr_core.errors import ClusterError


def test_names_fit_and_differ() -> None:
    names = Names.fresh()
    assert names != Names.fresh()
    assert Names.parse(names.cluster) == names
    interfaces = [names.bridge, *(names.host_interface(index) for index in range(200))]
    assert max(map(len, interfaces)) <= 15
    assert len({names.node(index) for index in range(200)}) == 200


@pytest.mark.parametrize("name", ["", "vtr-", "vtr-0123456", "vtr-0123456g", "vtr-../../etc", "eth0"])
def test_nothing_else_is_taken_for_a_cluster(name: str) -> None:
    with pytest.raises(ClusterError, match="not the name of a local cluster"):
        Names.parse(name)


def test_existing_clusters_have_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "ROOT", tmp_path)
    for folder in ("vtr-00000001", "vtr-00000002", "vtr-demo"):
        (tmp_path / folder).mkdir()
    for folder in ("vtr-00000001", "vtr-demo"):
        (tmp_path / folder / "cluster.json").touch()
    assert existing() == [Names("00000001")]
