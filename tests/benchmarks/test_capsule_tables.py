"""The page of the capsule paper's tables: what is asked of `vtr tables`, and what the page says of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import capsule_tables
from benchmarks.capsule_tables import Flags, markdown, train_on_vidrel
from pipelines.systems.capsules.capsule_tables import TablesFlags
from vtr_core.data.manifest import Manifest

PAGE = "# The paper\n\nCells: …\n\n## Table 6: sharing\n\n| Method | R@1 |\n"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[TablesFlags, Mapping[str, Any]]]:
    found: list[tuple[TablesFlags, Mapping[str, Any]]] = []

    def tables(flags: TablesFlags, changes: Mapping[str, Any]) -> str:
        found.append((flags, changes))
        return PAGE

    monkeypatch.setattr(capsule_tables, "tables", tables)
    return found


def test_table_6_on_clips_of_two_streams(tmp_path: Path, asked: list[tuple[TablesFlags, Mapping[str, Any]]]) -> None:
    folder = tmp_path / "data" / "vidrel"
    for name, shape in (("resnet152", (3, 8)), ("c3d", (4,))):
        (folder / name).mkdir(parents=True)
        for number in range(20):
            np.save(folder / name / f"video{number}.npy", np.ones(shape, np.float16))
    captions = "".join(f"video{number},a dog\n" for number in range(20))
    (folder / "captions.csv").write_text(f"video_id,caption\n{captions}")
    flags = Flags(data=str(tmp_path / "data"), runs=str(tmp_path / "runs"), vidrel_epochs=3)
    train_on_vidrel(flags)
    ((given, changes),) = asked
    assert (given.only, given.seeds, changes["training.epochs"]) == ((6,), 3, 3)
    test = given.test[0].partition("=")[2]
    assert given.data is not None
    assert sum(Manifest.load(place).rows for place in (test, f"{given.data}/train", f"{given.data}/val")) == 20


def test_the_page_marks_what_the_figures_are_of() -> None:
    page = markdown(Flags(data="d", epochs=10), PAGE, {"synthetic clips": 518})
    assert "not how methods compare" in page
    assert "Cells: …" not in page
    assert page.count("## Table 6: sharing") == 1
    assert "518 of synthetic clips" in page
    assert "`python -m benchmarks.capsule_tables --data d --epochs 10`" in page
    assert "vidrel" not in page
