from pathlib import Path

import pytest

from pipelines.systems.captioning.gmc_tables import GmcTablesFlags, tables
from pipelines.tables import runs as table_runs
from pipelines.tables.command import main
from tests.builders.captioned import captioned_videos
from vtr_core.errors import ConfigError
from vtr_core.run.config import TrainConfig

CAPTIONS = {"a": ["a man runs", "a man is running"], "b": ["a dog sleeps", "the dog is sleeping"]}


def test_without_data_the_paper_s_figures_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["gmc", "--out", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "No training data was given" in shown
    assert "137.1" in shown
    assert (tmp_path / "tables.json").exists()


def test_every_row_is_trained_with_every_seed_and_the_neighbour_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = captioned_videos(tmp_path / "d", CAPTIONS)
    trained: list[tuple[str, int]] = []

    def train(self: table_runs.Sweep, config: TrainConfig, folder: str) -> str:
        trained.append((config.preset, config.seed))
        return folder

    def measured(task: str, checkpoint: str, one: table_runs.TestSet, experiment: str) -> dict[str, object]:
        return {"uri": one.uri, "figures": {"own/cider": 40.0 + len(trained)}, "chance": {}}

    monkeypatch.setattr(table_runs.Sweep, "train", train)
    monkeypatch.setattr(table_runs, "_of_a_system", measured)
    flags = GmcTablesFlags(
        only=(2,),
        preset="caption-msrvtt-tiny",
        data=data.uri,
        test=(f"own={data.uri}",),
        seeds=2,
        out=str(tmp_path / "o"),
    )
    page = tables(flags, {"loss.granularity_margin.warmup_steps": 3})
    assert len(trained) == 8
    assert {name for name, _ in trained} == {
        f"caption-msrvtt-tiny{variant}" for variant in ("", "-baseline", "-margin", "-fusion")
    }
    assert "own CIDEr" in page
    # Its own caption is said of every video, as the nearest training video is the first of two that look alike.
    assert "nearest training video's caption" in page
    tables(flags, {})
    assert len(trained) == 8


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    data = captioned_videos(tmp_path / "d", CAPTIONS)
    with pytest.raises(ConfigError, match="needs something to evaluate on"):
        tables(GmcTablesFlags(data=data.uri, out=str(tmp_path / "o")), {})
    with pytest.raises(ConfigError, match="write name=URI"):
        tables(GmcTablesFlags(data=data.uri, test=("x",)), {})
    with pytest.raises(ConfigError, match="has tables 1 and 2"):
        tables(GmcTablesFlags(only=(3,)), {})
