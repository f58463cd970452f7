"""`vtr tables capsules`: rows are trained and evaluated once; without data the paper's figures stand alone."""

import json
from pathlib import Path

import pytest

from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.systems.capsules.capsule_tables import TablesFlags, tables
from vtr_core.data.sources.synthetic import SyntheticSteps
from vtr_core.errors import ConfigError

pytestmark = pytest.mark.integration
SMALL = {"training.epochs": 1, "scaling.workers": 0}


@pytest.mark.long
@pytest.mark.usefixtures("local_ray")
def test_rows_are_trained_evaluated_and_not_done_twice(
    world: Path, tmp_path: Path, own_tracking_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = tmp_path / "steps"
    ingest(
        SyntheticSteps(dim_2d=16, dim_3d=16, dim_audio=8, num_tasks=2, videos_per_task=2), IngestFlags(out=str(steps))
    )
    flags = TablesFlags(
        only=(6,),
        preset="capsule-howto-tiny",
        data=str(world),
        test=(f"msrvtt={world}/test",),
        steps=(f"mine={steps}",),
        seeds=1,
        out=str(tmp_path / "out"),
    )
    changes = {**SMALL, "model.num_capsules": 4, "model.embedding_dim": 16, "model.words.hidden_dim": 16}
    page = tables(flags, changes)
    (shared,) = [line for line in page.splitlines() if line.startswith("| Shared |")]
    assert shared.count("→") == 4  # the columns of msrvtt; those of youcook2 have the paper's figures alone
    assert "- youcook2: not run. Its features are not at hand" in page
    figures = json.loads((tmp_path / "out" / "tables.json").read_text())["figures"]
    assert set(figures[""]) >= {"msrvtt/t2va/r10", "mine/recall_task"}
    monkeypatch.setattr("pipelines.train.command.train", _refuse)
    monkeypatch.setattr("pipelines.train.command.resume", _refuse)
    assert tables(flags, changes) == page


def _refuse(*_: object) -> None:
    raise AssertionError("trained again")


def test_without_data_nothing_is_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.train.command.train", _refuse)
    page = tables(TablesFlags(out=str(tmp_path)), {})
    assert [f"## Table {number}:" in page for number in range(1, 7)] == [True] * 6
    assert "vtr ingest crosstask" in page
    assert "→ **" not in page


def test_rows_as_published_stand_beside_ours_with_what_differs(tmp_path: Path) -> None:
    page = tables(TablesFlags(out=str(tmp_path), published=True, only=(3,)), {})
    assert "| EM routing, settings as published |" in page
    assert "| EM routing, ours |" in page
    (shared,) = [line for line in page.splitlines() if line.startswith("- Settings of our rows that differ")]
    for text in (
        "evaluation.similarity = dot (paper: neg_euclidean)",
        "loss.same_video.kind = keep (paper: keep_all)",
        "model.initialization = scaled (paper: torch)",
        "optimizer.full_rate_width = 1024 (paper: None)",
        "optimizer.learning_rate = 0.003 (paper: 0.001)",
    ):
        assert text in shared
    assert "- EM routing, ours: model.routing.components = mean (paper: sum)." in page
    assert "- Self-attention, ours: model.routing.num_heads = 1 (paper: 4)." in page
    assert "differ" not in tables(TablesFlags(out=str(tmp_path), preset="capsule-howto-published"), {})


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"test": ("msrvtt",)}, "write name=URI"),
        ({"test": ("crosstask=x",)}, "give it with --steps"),
        ({"only": (7,)}, "tables 1, 2, 3, 4, 5, 6"),
        ({"data": "somewhere"}, "needs something to evaluate on"),
    ],
)
def test_faults_are_named(flags: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        tables(TablesFlags(out=str(tmp_path), **flags), {})  # type: ignore[arg-type]
