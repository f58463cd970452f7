"""Names are joined to URIs as locations join them."""

import pytest

from pipelines.tables import runs
from vtr_core.storage import locate
from vtr_core.storage.location import below

STORE = "?endpoint_override=http://127.0.0.1:9000&region=x"


@pytest.mark.parametrize("folder", ["/data/a", "/data/a/", "s3://bucket/a", f"s3://bucket/a{STORE}"])
def test_names_come_before_settings(folder: str) -> None:
    assert locate(below(folder, "b/c.json")).path == f"{locate(folder).path.rstrip('/')}/b/c.json"
    assert below(folder, "b").endswith(STORE if STORE in folder else "a/b")


def test_rows_of_tables_on_a_store_with_settings() -> None:
    folder, test = runs.run_folder(f"s3://bucket/tables{STORE}", "", 3), runs.TestSet("test", "data/test", "retrieval")
    for place, name in ((folder, ""), (runs.settings_file(folder), ".settings.json")):
        assert locate(place).path == f"bucket/tables/base/seed-3{name}"
    assert locate(runs.figures_file(folder, test)).path == "bucket/tables/base/seed-3/figures-test.json"
