"""`vtr evaluate --encoder`: a data set's features are judged zero-shot where they are the encoder's, else refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipelines.cli import run
from pipelines.evaluate.evaluation_flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from pipelines.explain.command import ExplainQueriesFlags
from pipelines.explain.queries import explain
from pipelines.extract.command import ExtractFlags, extract
from pipelines.index.command import IndexFlags
from pipelines.index.indexing import index
from tests.builders.small_videos import grey_video
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.encoders.encoder import encoder
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.retrieval.index.index import load_index
from vtr_core.storage import locate

CAPTIONS = {"one": "a grey wall", "two": "a dark room", "three": "fog over a lake"}


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("films")
    rows = []
    for number, (name, caption) in enumerate(CAPTIONS.items()):
        grey_video(folder / f"{name}.mp4", [k / 5 for k in range(6 + number)], (64 + 16 * number, 48))
        rows.append(json.dumps({"id": name, "caption": caption, "video": f"{name}.mp4"}))
    (folder / "captions.jsonl").write_text("\n".join(rows))
    return folder


def extracted(films: Path, out: Path, **others: object) -> str:
    flags = ExtractFlags(str(films), str(out), str(films / "captions.jsonl"), ("imagenet-lite",), workers=0)
    extract(replace(flags, **{"normalise": False, **others}))  # type: ignore[arg-type]
    return str(out)


@pytest.fixture(scope="module")
def data(films: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return extracted(films, tmp_path_factory.mktemp("data") / "means", pool="mean")


def scores(uri: str) -> np.ndarray:
    """Captions x clips, by the encoder's own functions."""
    manifest, bundled = Manifest.load(uri), encoder("bundled")
    columns = [RowGroupReader(manifest, ["video", "caption"]).read(place) for place in row_groups(manifest)]
    rows = np.concatenate([one["video"] for one in columns])[:, :1280].astype(np.float64)
    head = bundled.head()
    logits = rows @ head.weight.double().numpy().T + head.bias.double().numpy()  # type: ignore[union-attr,operator]
    p = np.exp((logits - logits.max(axis=1, keepdims=True)) / 2)
    vectors = (p / p.sum(axis=1, keepdims=True)) @ head.names.double().numpy()  # type: ignore[union-attr,operator]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = bundled.encode_text([text for one in columns for text in one["caption"].tolist()])
    return np.asarray(texts.astype(np.float64) @ vectors.T)


@pytest.mark.parametrize("pool", ["mean", "mean_std"])
def test_figures_are_those_of_the_similarities(pool: str, films: Path, tmp_path: Path, own_tracking_store: str) -> None:
    uri = extracted(films, tmp_path / "data", pool=pool)
    expected = retrieval_metrics(scores(uri))
    for flags in (EvaluateFlags(None, (uri,), encoder="bundled"), EvaluateFlags("encoder:bundled", (uri,))):
        (result,) = evaluate(flags)
        figures = result.variants[0].directions[0].metrics
        assert figures.recall == pytest.approx(expected.recall)
        assert figures.mean_rank == pytest.approx(expected.mean_rank)


def test_features_of_another_kind_are_refused(films: Path, data: str, tmp_path: Path, own_tracking_store: str) -> None:
    remedy = "extract it again with vtr extract VIDEOS --recipe bundled"
    scaled = extracted(films, tmp_path / "scaled", pool="mean", normalise=True)
    with pytest.raises(DatasetError, match=f"has rows of length 1, bundled needs their own scale: {remedy}"):
        evaluate(EvaluateFlags(None, (scaled,), encoder="bundled"))
    largest = extracted(films, tmp_path / "max", pool="max")
    with pytest.raises(DatasetError, match=f"has the greatest values of rows, bundled needs their mean: {remedy}"):
        index(IndexFlags("encoder:bundled", largest, str(tmp_path / "index")))
    with pytest.raises(ConfigError, match="no encoder 'bundeld'"):
        evaluate(EvaluateFlags(None, (data,), encoder="bundeld"))
    with pytest.raises(ConfigError, match="give a checkpoint, or --encoder NAME"):
        evaluate(EvaluateFlags("encoder:bundled", (data,), encoder="bundled"))


def test_a_data_set_is_indexed_and_explained_by_an_encoder(data: str, tmp_path: Path, own_tracking_store: str) -> None:
    index(IndexFlags(None, data, str(tmp_path / "index"), encoder="bundled"))
    found = load_index(locate(str(tmp_path / "index")))
    assert found.record.sizes == {"concept": 1000, "video": 384}
    flags = ExplainQueriesFlags("encoder:bundled", data, ("fog over a lake",), out=str(tmp_path), k=3)
    report = explain(flags)
    (answer,) = report.queries[0].answers
    order = np.argsort(-scores(data)[[item.caption for item in found.items].index("fog over a lake")])
    names = [item.item_id for item in found.items]
    assert [hit.video_id for hit in answer.hits] == [names[place] for place in order]
    assert answer.right_rank == 1 + [hit.video_id for hit in answer.hits].index("three")
    assert [hit.right for hit in answer.hits].count(True) == 1
    with pytest.raises(ConfigError, match="has one space; leave out --latent-weight"):
        explain(replace(flags, latent_weight=0.5))


def test_a_transform_is_not_searched_for_an_encoder(tmp_path: Path) -> None:
    arguments = ["causality", "encoder:bundled", "--data", "a", "--test", "b", "--out", str(tmp_path)]
    with pytest.raises(ConfigError, match=r"was not trained, .* on the page of vtr explain encoder:bundled --data URI"):
        run("analyze", arguments)
