"""A reader who follows a batch, a training or a search passes few files; and counting counts what runs."""

from pathlib import Path

import pytest

from benchmarks.flows import BATCH, SEARCH, TRAIN, entered, measured

MOST = {BATCH: 20, TRAIN: 90, SEARCH: 55}
"""Files; lower a number when a flow has become shorter."""


def test_what_runs_is_counted_and_what_an_import_runs_is_not() -> None:
    from vtr_core.errors import nearest
    from vtr_core.json_text import parse_json

    functions = entered(lambda: nearest("trian", ["train"], "hint"))
    assert "nearest" in functions["vtr_core/errors.py"]
    assert "vtr_core/json_text.py" not in functions
    whole = entered(lambda: (nearest("trian", ["train"], "hint"), parse_json("1")))
    assert "vtr_core/json_text.py" in whole
    assert "vtr_core/json_text.py" not in entered(
        lambda: (nearest("trian", ["train"], "hint"), parse_json("1")), nearest.__code__
    )


@pytest.mark.integration
def test_the_flows_are_short(tmp_path: Path) -> None:
    flows = measured(tmp_path)
    assert {name: len(files) for name, files in flows.items() if len(files) > MOST[name]} == {}
    assert "vtr_core/data/plan.py" in flows[BATCH]
    assert any("train" in file for file in flows[TRAIN])
    assert any("search" in file for file in flows[SEARCH])
