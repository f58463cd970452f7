"""A model's scores are the same wherever they are made: evaluation, Python, search and explanations."""

from pathlib import Path

import numpy as np
import pytest

import vtr_core
from tests.builders.dual_checkpoints import dual_checkpoint
from tests.builders.toy import toy_videos
from vtr_core.analysis.transforms import Transform
from vtr_core.data.manifest import Manifest
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.retrieval.index.build import build_index
from vtr_core.retrieval.search.index_search import SearchOptions, searcher
from vtr_core.systems.dual.dual_embeddings import embed_dual
from vtr_core.systems.dual.evaluation import checkpoint_figures
from vtr_core.systems.dual.hybrid_scores import dual_scoring, whole_scores

FRAMES_OF = (3, 1, 4, 2, 5, 2, 6, 1, 3, 2, 4, 7)


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return toy_videos(tmp_path_factory.mktemp("videos"), FRAMES_OF, videos_per_shard=len(FRAMES_OF))


@pytest.mark.parametrize("normalise", ["query", "train"])
def test_ranks_of_evaluation_python_search_and_explanation_are_equal(
    videos: Manifest, tmp_path: Path, normalise: str
) -> None:
    changes: dict[str, object] = {} if normalise == "query" else {"evaluation.normalise": normalise}
    model = vtr_core.load(dual_checkpoint(tmp_path, videos, changes), "cpu")
    loaded = model.loaded
    loaded.model.ranges.copy_(loaded.model.ranges.new_tensor([[-0.9, 0.8], [0.2, 0.9]]))  # type: ignore[operator,union-attr]
    rows = embed_dual(loaded, videos)
    evaluated = whole_scores(rows, dual_scoring(loaded))["hybrid"]
    texts = model.encode_text(list(rows.captions))
    items = model.encode_video([_frames(int(name[1:])) for name in rows.video_id])
    np.testing.assert_allclose(model.similarity(texts, items), evaluated, atol=1e-5)
    search = searcher(build_index(loaded, videos, "exact"), loaded, SearchOptions())
    for caption in range(0, len(rows.captions), 7):
        text, expected = rows.captions[caption], evaluated[caption]
        alone = model.similarity(model.encode_text([text]), items)[0]  # a query's scores do not depend on others
        np.testing.assert_allclose(alone, expected, atol=1e-5)
        (hits,) = search.search([text], len(expected))
        assert hits is not None
        explained = model.explain(text, items, k=len(expected), ids=list(rows.video_id))
        for of in (hits, explained):
            by_name = {hit.video_id: hit.score for hit in of}  # type: ignore[attr-defined]
            np.testing.assert_allclose([by_name[name] for name in rows.video_id], expected, atol=1e-5)
    relevant = rows.caption_video[:, None] == np.arange(len(rows.video_id))
    there, back = checkpoint_figures(loaded, videos, loaded.config.evaluation)[0].directions
    assert retrieval_metrics(model.similarity(texts, items), relevant).recall == there.metrics.recall
    assert retrieval_metrics(model.similarity(items, texts), relevant.T).recall == back.metrics.recall


def test_a_policy_keeps_its_ranges_to_scores_without_a_transform(videos: Manifest, tmp_path: Path) -> None:
    loaded = vtr_core.load(dual_checkpoint(tmp_path, videos, {"evaluation.normalise": "train"}), "cpu").loaded
    loaded.model.ranges.copy_(loaded.model.ranges.new_tensor([[-0.9, 0.8], [0.2, 0.9]]))  # type: ignore[operator,union-attr]
    policy = dual_scoring(loaded)
    assert policy.transformed(policy.transform) == policy
    assert policy.transformed(Transform("jaccard", 2.0)).normalise == "query"


def _frames(v: int) -> np.ndarray:
    return np.array([[v, t, v + t] for t in range(FRAMES_OF[v])], np.float16)
