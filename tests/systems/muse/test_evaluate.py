"""`vtr evaluate`, `vtr index` and `vtr search` of MUSE on data sets of whole videos."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from mlflow import MlflowClient

from pipelines.evaluate.evaluation_flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from pipelines.index.command import IndexFlags
from pipelines.index.indexing import index
from pipelines.search.command import SearchFlags
from pipelines.search.search import search
from tests.builders.token_videos import token_videos
from tests.builders.toy import toy_dataset
from tests.systems.muse.test_task import NO_LEARNER, WORDS, small
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import ConfigError, InputError, SchemaMismatch
from vtr_core.run.build import build_model
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.spaces import clip_space_of
from vtr_core.systems.video_space import embed_words
from vtr_core.tracking.models.model_folder import example, signature
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint
from vtr_core.train.served_model import ServedModel


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """Video 6 has no frames."""
    return token_videos(tmp_path_factory.mktemp("tokens") / "videos", blind=[6])


def saved(folder: Path, data: Manifest, **changes: object) -> str:
    torch.manual_seed(0)
    config = with_inputs(override(preset("muse-msrvtt"), small(**changes)), data)
    weights = build_model(config.model).state_dict()
    words = WordTable.load(data).vocabulary
    save_checkpoint(locate(str(folder)), Checkpoint(config, weights, {}, Progress(step=7), words))
    return str(folder)


@pytest.fixture(scope="module")
def checkpoint(data: Manifest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("model") / "words", data, **WORDS)


@pytest.mark.parametrize("changes", [{}, WORDS, NO_LEARNER], ids=["vectors", "words", "none"])
def test_it_prints_and_logs_both_directions(
    changes: dict[str, object],
    data: Manifest,
    own_tracking_store: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, place = tmp_path / "figures.json", saved(tmp_path / "c", data, **changes)
    (result,) = evaluate(EvaluateFlags(checkpoint=place, data=(data.uri,), experiment="muse-figures", out=str(out)))
    shown = " ".join(capsys.readouterr().out.split())
    assert "cosine similarity" in shown
    assert "1 of 24 queries have no item to find" in shown
    assert [direction.name for direction in result.directions] == ["t2v", "v2t"]
    assert json.loads(out.read_text())["similarity"] == "cosine"
    client = MlflowClient(own_tracking_store)
    experiment = client.get_experiment_by_name("muse-figures")
    assert experiment is not None
    run = client.search_runs([experiment.experiment_id])[0]
    assert {"test/videos/t2v/sum_r", "test/videos/t2v/meanr", "test/videos/v2t/meanr"} <= run.data.metrics.keys()


def test_corrections_and_whole_videos_are_there_too(data: Manifest, checkpoint: str) -> None:
    flags = EvaluateFlags(checkpoint=checkpoint, data=(data.uri,), normalize=("dual_softmax",), aggregate="video")
    (result,) = evaluate(flags)
    names = [variant.name for variant in result.variants]
    assert names == ["plain", "video_mean", "video_captions", "dual_softmax"]
    assert result.variants[1].directions[0].metrics.num_queries == 12


def test_an_index_holds_every_video_once_and_finds_it(
    data: Manifest, checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The video that the vectors of evaluation rank first for a caption, among the 11 with frames."""
    record = index(IndexFlags(checkpoint, data.uri, str(tmp_path / "index")))
    assert (record.num_items, record.sizes) == (11, {"video": 8})
    capsys.readouterr()
    search(SearchFlags(query=("Caption number1 of video number4",), index=str(tmp_path / "index"), json=True, k=11))
    hits = json.loads(capsys.readouterr().out)["hits"]
    assert sorted(hit["video_id"] for hit in hits) == sorted(f"v{v}" for v in range(12) if v != 6)
    assert all(hit["item_id"] == hit["video_id"] for hit in hits)
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)


def test_a_served_model_embeds_captions(data: Manifest, checkpoint: str, tmp_path: Path) -> None:
    loaded = load_model(checkpoint)
    table = pd.DataFrame({"caption": ["video number3", "xyzzy"]}, index=["a", "b"])
    found = ServedModel(loaded).predict(table)
    vectors, _ = embed_words(loaded.model, loaded.config, loaded.vocabulary, ["video number3"])
    assert (list(found.columns), list(found.index), found["text"]["b"]) == (["text"], ["a", "b"], None)
    np.testing.assert_allclose(found["text"]["a"], vectors[0], atol=1e-6)
    assert example(loaded.config).columns.tolist() == signature(loaded.config).inputs.input_names() == ["caption"]
    assert signature(loaded.config).outputs.input_names() == ["text"]
    with pytest.raises(InputError, match="a model of whole videos embeds texts"):
        ServedModel(loaded).predict(pd.DataFrame({"video": [[0.0] * 40]}))


def test_data_and_tasks_of_other_models_are_refused(data: Manifest, checkpoint: str, tmp_path: Path) -> None:
    clips = toy_dataset(tmp_path / "clips")[0]
    with pytest.raises(SchemaMismatch, match="whole videos with their frames"):
        evaluate(EvaluateFlags(checkpoint=checkpoint, data=(clips.uri,)))
    bank = EvaluateFlags(checkpoint=checkpoint, data=(data.uri,), normalize=("query_bank",), query_bank=clips.uri)
    with pytest.raises(ConfigError, match="--query-bank is for models of clips, not for 'muse'"):
        evaluate(bank)
    with pytest.raises(
        ConfigError, match=r"is of a 'muse' model, .* and vtr explain; localisation needs one of 'capsule_net' or"
    ):
        clip_space_of(load_model(checkpoint), "localisation")
