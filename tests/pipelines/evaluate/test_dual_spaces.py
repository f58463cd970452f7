"""`vtr evaluate` of a dual encoder: what it prints, logs and refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
from mlflow import MlflowClient

from pipelines import concepts as concepts
from pipelines.evaluate.evaluation_flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from tests.builders.captioned import captioned_videos
from tests.builders.dual_checkpoints import dual_checkpoint
from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.data.manifest import Manifest
from vtr_core.errors import ConfigError, DatasetError, SchemaMismatch
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.storage import StorageError
from vtr_core.systems.dual.dual_embeddings import embed_dual
from vtr_core.systems.dual.hybrid_scores import dual_scoring, whole_scores
from vtr_core.systems.spaces import clip_space_of
from vtr_core.train.checkpoint import load_model


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return toy_videos(tmp_path_factory.mktemp("toy") / "videos")


@pytest.fixture(scope="module")
def checkpoint(data: Manifest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return dual_checkpoint(tmp_path_factory.mktemp("model") / "c", data)


def test_a_damaged_store_costs_neither_figures_nor_their_file(
    data: Manifest, checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    (tmp_path / "mlflow.db").write_bytes(b"no database" * 1000)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    evaluate(EvaluateFlags(checkpoint=checkpoint, data=(data.uri,), out="figures.json"))
    assert "hybrid similarity" in capsys.readouterr().out
    assert json.loads((tmp_path / "figures.json").read_text())["similarity"] == "hybrid"
    assert "the file is damaged: move it away" in caplog.text


def test_a_file_of_figures_that_cannot_be_written_costs_no_run(
    data: Manifest, checkpoint: str, own_tracking_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise StorageError("No space left on device")

    monkeypatch.setattr("vtr_core.storage.write_json", full)
    with pytest.raises(StorageError):
        evaluate(EvaluateFlags(checkpoint=checkpoint, data=(data.uri,), experiment="full", out="figures.json"))
    client = MlflowClient(own_tracking_store)
    experiment = client.get_experiment_by_name("full")
    assert experiment is not None
    assert [run.info.status for run in client.search_runs([experiment.experiment_id])] == ["FINISHED"]


def test_it_prints_and_logs_every_space(
    data: Manifest, checkpoint: str, own_tracking_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    evaluate(EvaluateFlags(checkpoint=checkpoint, data=(data.uri,), experiment="dual-figures", out=str(out)))
    shown = capsys.readouterr().out
    for part in ("hybrid similarity", "latent similarity", "concept similarity", "α = 0.6, rescaled by query"):
        assert part in shown
    assert "every figure depends on the whole test set" not in " ".join(shown.split())
    assert json.loads(out.read_text())["similarity"] == "hybrid"
    client = MlflowClient(own_tracking_store)
    experiment = client.get_experiment_by_name("dual-figures")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    logged = {"test/videos/t2v/sum_r", "test/videos/latent/t2v/r1", "test/videos/concept/v2t/map"}
    assert logged <= run.data.metrics.keys()
    assert (run.data.params["normalise"], run.data.params["latent_weight"]) == ("query", "0.6")


def test_weight_and_rescaling_are_those_of_the_command(data: Manifest, checkpoint: str) -> None:
    flags = EvaluateFlags(checkpoint=checkpoint, data=(data.uri,), latent_weight=1.0, rescale="matrix")
    (result,) = evaluate(flags)
    hybrid, latent, _ = result.variants
    assert hybrid.title == "α = 1, rescaled by matrix"
    assert "depends on the whole test set" in hybrid.remark
    assert hybrid.directions[0].metrics.mean_average_precision == latent.directions[0].metrics.mean_average_precision


@pytest.mark.parametrize(
    "given",
    [
        {"similarity": ("dot",)},
        {"aggregate": "captions"},
        {"normalize": ("dual_softmax",)},
        {"missing_audio": "miss"},
    ],
    ids=str,
)
def test_flags_of_other_models_are_refused(given: dict[str, object], data: Manifest, checkpoint: str) -> None:
    with pytest.raises(ConfigError, match=f"--{next(iter(given)).replace('_', '-')}.* is not for a dual encoder"):
        evaluate(EvaluateFlags(checkpoint=checkpoint, data=(data.uri,), **given))  # type: ignore[arg-type]


def test_data_and_tasks_of_other_models_are_refused(checkpoint: str, tmp_path: Path) -> None:
    clips = toy_dataset(tmp_path / "clips")[0]
    with pytest.raises(SchemaMismatch, match="whole videos with their frames"):
        evaluate(EvaluateFlags(checkpoint=checkpoint, data=(clips.uri,)))
    with pytest.raises(
        ConfigError, match=r"is of a 'hybrid_encoder' model, .* localisation needs one of 'capsule_net'"
    ):
        clip_space_of(load_model(checkpoint), "localisation")


def test_ambiguous_queries_are_compared_with_their_videos_alone(tmp_path: Path) -> None:
    captions = {"a": ["they run", "a man"], "b": ["a long run", "the run is long"], "c": ["a dog", "dogs"]}
    data = captioned_videos(tmp_path / "d", captions)
    concepts.main(
        [data.uri, "--processes", "1", "--ambiguous", "corpus", "--ambiguous-share", "0", "--min-captions", "1"]
    )
    saved = dual_checkpoint(tmp_path / "c", data)
    (result,) = evaluate(EvaluateFlags(checkpoint=saved, data=(data.uri,), queries="ambiguous"))
    plain, ambiguous = (
        next(one for one in result.variants if (one.similarity, one.name) == ("hybrid", name))
        for name in ("plain", "ambiguous")
    )
    assert [(d.metrics.num_queries, d.metrics.num_items) for d in plain.directions] == [(6, 3), (3, 6)]
    assert [(d.metrics.num_queries, d.metrics.num_items) for d in ambiguous.directions] == [(3, 2), (2, 3)]
    assert "test/d/ambiguous/t2v/r1" in result.metrics()
    loaded = load_model(saved, "cpu")
    rows = embed_dual(loaded, data)
    scores = whole_scores(rows, dual_scoring(loaded))["concept"]
    asked = [n for n, caption in enumerate(rows.captions) if "run" in caption]
    videos = sorted({int(rows.caption_video[n]) for n in asked})
    relevant = np.array([[rows.caption_video[n] == video for video in videos] for n in asked])
    expected = retrieval_metrics(np.asarray(scores)[np.ix_(asked, videos)], relevant)
    found = next(one for one in result.variants if (one.similarity, one.name) == ("concept", "ambiguous"))
    assert found.directions[0].metrics.mean_average_precision == pytest.approx(expected.mean_average_precision)


def test_ambiguous_queries_need_a_concept_table_of_the_data(data: Manifest, checkpoint: str) -> None:
    with pytest.raises(DatasetError, match="is not a concept table"):
        evaluate(EvaluateFlags(checkpoint=checkpoint, data=(data.uri,), queries="ambiguous"))
