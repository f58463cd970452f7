"""One evaluation: tables, JSON and MLflow say the same, and corrected figures never replace the plain ones."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from pipelines.evaluate.command import split_task
from pipelines.evaluate.evaluation_flags import EvaluateFlags, RowsRead, short_names
from pipelines.evaluate.retrieval import evaluate, similarities
from tests.builders.dual_checkpoints import capsule_checkpoint
from tests.builders.toy import Toy, toy_dataset, written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.errors import ConfigError, DatasetError


@pytest.fixture
def data(tmp_path: Path) -> Manifest:
    return toy_dataset(tmp_path / "data", clips_of=[2, 3, 1, 4, 2, 2, 5])[0]


@pytest.fixture
def checkpoint(data: Manifest, tmp_path: Path) -> str:
    return capsule_checkpoint(tmp_path / "checkpoint", data)


def logged(store: str, experiment: str) -> tuple[dict[str, float], dict[str, str]]:
    client = MlflowClient(store)
    found = client.get_experiment_by_name(experiment)
    assert found is not None
    (run,) = client.search_runs([found.experiment_id])
    return run.data.metrics, run.data.params


def test_every_figure_is_printed_logged_and_written(
    data: Manifest, checkpoint: str, tmp_path: Path, own_tracking_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = toy_dataset(tmp_path / "bank", clips_of=[3, 3])[0]
    every = {"similarity": ("all",), "aggregate": "captions", "normalize": ("dual_softmax", "query_bank")}
    bank_of = {"query_bank": bank.uri, "bank_size": 4}
    out = str(tmp_path / "figures.json")
    flags = EvaluateFlags(checkpoint, (data.uri,), **every, **bank_of, experiment="everything", out=out)
    (result,) = evaluate(flags)
    variants = ("plain", "best_captions", "dual_softmax", "query_bank")
    kinds = ("dot", "cosine", "neg_euclidean")
    assert [(v.similarity, v.name) for v in result.variants] == [(kind, name) for kind in kinds for name in variants]
    metrics, params = logged(own_tracking_store, "everything")
    names = {
        f"test/data{kind}{name}/t2v/r1"
        for kind in ("", "/cosine", "/neg_euclidean")
        for name in ("", "/dual_softmax", "/query_bank")
    }
    assert {name for name in metrics if name.endswith("/t2v/r1")} == names
    written_figures = json.loads((tmp_path / "figures.json").read_text())["sets"]["data"]
    for variant, record in zip(result.variants, written_figures["variants"], strict=True):
        for direction in variant.directions:
            recall = direction.metrics.recall[5]
            assert metrics[f"{record['metrics']}/{direction.name}/r5"] == pytest.approx(100 * recall)
            assert record["directions"][direction.name]["metrics"]["recall"]["5"] == recall
    assert written_figures["directions"] == written_figures["variants"][0]["directions"]
    assert params["similarities"] == "dot cosine neg_euclidean"
    assert params["similarity_trained_with"] == params["similarity_judged_by"] == "dot"
    assert (params["query_bank"], params["bank_size"]) == (bank.uri, "4")
    printed = " ".join(capsys.readouterr().out.split())  # titles are wrapped
    remarks = ("dot similarity", "neg_euclidean similarity", "depends on all test queries")
    assert all(words in printed for words in (*remarks, f"4 captions of {bank.uri}"))


def test_report_configuration_and_environment_are_artifacts(
    data: Manifest, checkpoint: str, own_tracking_store: str, tmp_path: Path
) -> None:
    evaluate(EvaluateFlags(checkpoint, (data.uri,), experiment="artifacts"))
    client = MlflowClient(own_tracking_store)
    (run,) = client.search_runs([client.get_experiment_by_name("artifacts").experiment_id])
    files = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert files == {"config.json", "environment.json", "evaluation.json", "report.html"}
    page = Path(client.download_artifacts(run.info.run_id, "report.html", str(tmp_path))).read_text()
    assert "text → video" in page
    assert run.info.run_name == "evaluate-data-capsule-howto-tiny"
    assert checkpoint in run.data.tags["mlflow.note.content"]
    assert run.data.tags["mlflow.source.name"] == "vtr evaluate"


def test_the_similarity_of_training_is_the_main_one() -> None:
    assert similarities((), "cosine") == ["cosine"]
    assert similarities(("all",), "cosine") == ["cosine", "dot", "neg_euclidean"]
    assert similarities(("all",), "neg_euclidean") == ["neg_euclidean", "dot", "cosine"]
    assert similarities(("dot", "neg_euclidean", "dot"), "neg_euclidean") == ["neg_euclidean", "dot"]
    assert similarities(("cosine",), "dot") == ["cosine"]


class Hidden(Toy):
    """Clips with captions and nothing to see or hear."""

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        yield Clip(video.video_id, 0.0, 1.0, "video", {})


def test_a_data_set_with_nothing_to_find_is_an_error(checkpoint: str, tmp_path: Path) -> None:
    hidden = written(Hidden(), tmp_path / "hidden", IngestOptions())[0]
    with pytest.raises(DatasetError, match="no clip has any of the features video, audio"):
        evaluate(EvaluateFlags(checkpoint, (hidden.uri,), experiment="hidden"))


@pytest.mark.parametrize("given", [{"latent_weight": 0.3}, {"rescale": "query"}, {"concepts": "c"}], ids=str)
def test_flags_of_dual_encoders_are_refused(given: dict[str, object], data: Manifest, checkpoint: str) -> None:
    flag = next(iter(given)).replace("_", "-")
    with pytest.raises(ConfigError, match=f"--{flag} is for dual encoders, .* a 'capsule_net' model"):
        evaluate(EvaluateFlags(checkpoint, (data.uri,), **given))  # type: ignore[arg-type]


def test_the_task_is_taken_out_of_the_words() -> None:
    assert split_task(["c", "--data", "d"]) == ("retrieval", ["c", "--data", "d"])
    assert split_task(["--task", "localization", "c", "--help"]) == ("localization", ["c", "--help"])
    assert split_task(["c", "--task=retrieval", "--data", "d"]) == ("retrieval", ["c", "--data", "d"])
    with pytest.raises(ConfigError, match="--task needs a value"):
        split_task(["c", "--task"])


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
