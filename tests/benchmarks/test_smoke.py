"""Nothing has lost its lead over slow code: no ratio is below a tenth of the committed one."""

import json

import pytest

from benchmarks.smoke import RESULTS, ROWS, markdown, ratios


@pytest.mark.long
def test_nothing_has_become_slower_by_far() -> None:
    committed = {row["name"]: row["ratio"] for row in json.loads((RESULTS / "smoke.json").read_text())["rows"]}
    rows = {row["name"]: row["ratio"] for row in ratios(rounds=3)}
    assert rows.keys() == committed.keys()
    lost = {name: (ratio, committed[name]) for name, ratio in rows.items() if ratio < committed[name] / 10}
    assert not lost


def test_the_page_has_a_row_for_each_thing() -> None:
    page = (RESULTS / "smoke.md").read_text()
    assert page == markdown(json.loads((RESULTS / "smoke.json").read_text()))
    assert page.count("\n| ") == len(ROWS) + 1
