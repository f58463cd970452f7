"""`vtr_core.load`: what it encodes are the vectors of evaluation, bit for bit; its scores are those of evaluation."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import vtr_core
from tests.builders.dual_checkpoints import CONCEPTS, capsule_checkpoint, dual_checkpoint
from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.shards.word_table import WordTable
from vtr_core.embedding.embedded_rows import embed
from vtr_core.embedding.rankings import rankings
from vtr_core.errors import CheckpointError, ConfigError, InputError
from vtr_core.run.build import build_model
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.dual.dual_embeddings import embed_dual
from vtr_core.systems.dual.evaluation import evaluate_dual
from vtr_core.systems.dual.hybrid_scores import dual_scoring, whole_scores
from vtr_core.systems.video_space import embed_videos
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint

FRAMES_OF = (3, 1, 4, 0, 5, 2)
ABSENT = "xylophone"


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return toy_videos(tmp_path_factory.mktemp("videos"), FRAMES_OF, videos_per_shard=len(FRAMES_OF))


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return toy_dataset(tmp_path_factory.mktemp("clips"), (3, 1, 4, 2), videos_per_shard=4)[0]


@pytest.fixture(scope="module")
def dual(videos: Manifest, tmp_path_factory: pytest.TempPathFactory) -> vtr_core.Model:
    return vtr_core.load(dual_checkpoint(tmp_path_factory.mktemp("dual"), videos), "cpu")


@pytest.fixture(scope="module")
def capsules(clips: Manifest, tmp_path_factory: pytest.TempPathFactory) -> vtr_core.Model:
    return vtr_core.load(capsule_checkpoint(tmp_path_factory.mktemp("capsules"), clips), "cpu")


def frames(v: int) -> np.ndarray | None:
    """Of video v of `toy_videos`."""
    return np.array([[v, t, v + t] for t in range(FRAMES_OF[v])]) if FRAMES_OF[v] else None


def test_a_dual_encoder_encodes_what_evaluation_does(dual: vtr_core.Model, videos: Manifest) -> None:
    rows = embed_dual(dual.loaded, videos)
    order = [int(name[1:]) for name in rows.video_id]
    seen = dual.encode_video([frames(v) for v in order])
    told = dual.encode_text(list(rows.captions))
    for space, text, video in (
        ("latent", rows.text["latent"], rows.video["latent"]),
        ("concept", rows.text["concept"], rows.video["concept"]),
    ):
        assert np.array_equal(told.vectors[space], text)
        assert np.array_equal(seen.vectors[space], video)
    assert seen.known.tolist() == [FRAMES_OF[v] > 0 for v in order]


def test_a_dual_encoder_compares_as_evaluation_does(dual: vtr_core.Model, videos: Manifest) -> None:
    rows, scoring = embed_dual(dual.loaded, videos), dual_scoring(dual.loaded)
    whole = whole_scores(rows, scoring)["hybrid"]
    seen = dual.encode_video([frames(int(name[1:])) for name in rows.video_id])
    assert np.array_equal(dual.similarity(dual.encode_text(list(rows.captions)), seen), whole)
    assert evaluate_dual(rows, scoring)[0].space == "hybrid"


def test_clips_are_encoded_and_compared_as_evaluation_does(capsules: vtr_core.Model, clips: Manifest) -> None:
    rows = embed(capsules.loaded.model, capsules.features, clips, capsules.loaded.vocabulary, row_groups(clips), 1024)
    read = [
        RowGroupReader(clips, ["caption", "video", "audio", "has_audio"]).read(place) for place in row_groups(clips)
    ]
    columns = {name: np.concatenate([part[name] for part in read]) for name in read[0]}
    sounds = [row if has else None for row, has in zip(columns["audio"], columns["has_audio"], strict=True)]
    told = capsules.encode_text([str(text) for text in columns["caption"]])
    seen = capsules.encode_video({"video": columns["video"], "audio": sounds})
    assert np.array_equal(told, rows.vectors["text"])
    assert np.array_equal(seen.vectors["video"], rows.vectors["video"])
    assert np.array_equal(seen.vectors["audio"][columns["has_audio"]], rows.vectors["audio"][columns["has_audio"]])
    assert np.array_equal(seen.present["audio"], columns["has_audio"])
    alone, heard = capsules.encode_video(columns["video"]), capsules.encode_audio(sounds)
    assert np.array_equal(alone, seen.vectors["video"])
    assert np.array_equal(heard, seen.vectors["audio"])
    by_name = {ranking.name: ranking for ranking in rankings(rows)}
    for name, items in (("t2v", alone), ("t2va", seen)):
        scores = by_name[name].scores("dot")(slice(None), slice(None))
        assert np.array_equal(capsules.similarity(told, items), scores)


def test_muse_encodes_what_evaluation_does(videos: Manifest, tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = with_inputs(override(preset("muse-msrvtt-tiny"), MUSE), videos)
    words = WordTable.load(videos).vocabulary
    weights = build_model(config.model).state_dict()
    save_checkpoint(locate(str(tmp_path)), Checkpoint(config, weights, {}, Progress(), words))
    model = vtr_core.load(tmp_path, "cpu")
    rows = embed_videos(model.loaded.model, config, videos, words, row_groups(videos))
    first = np.sort(np.unique(rows.video_key, return_index=True)[1])
    seen = model.encode_video([frames(int(name[1:])) for name in video_ids(videos)])
    assert np.array_equal(seen, rows.vectors["video"][first])


MUSE = {
    "model.grid": None,
    "model.scales": (1,),
    "model.text": {"kind": "words"},
}


def video_ids(manifest: Manifest) -> list[str]:
    reader = RowGroupReader(manifest, ["video_id"])
    return [name for place in row_groups(manifest) for name in reader.read_arrow(place)["video_id"].to_pylist()]


def test_one_text_and_an_unknown_one(dual: vtr_core.Model, capsules: vtr_core.Model) -> None:
    for model in (dual, capsules):
        one, two = model.encode_text("video number2"), model.encode_text(["video number2", ABSENT])
        assert (len(one), len(two)) == (1, 2)
        assert two.known.tolist() == [True, False]
        assert all(not vectors[1].any() for vectors in two.vectors.values())
        assert len(model.encode_text([])) == 0


def test_hits_are_explained_by_concepts(dual: vtr_core.Model) -> None:
    seen = dual.encode_video([frames(v) for v in range(6)])
    hits = dual.explain("video number2", seen, k=3, ids=[f"film {v}" for v in range(6)])
    scores = [hit.score for hit in hits]
    assert (len(hits), scores) == (3, sorted(scores, reverse=True))
    assert {hit.video_id for hit in hits} <= {"film 0", "film 1", "film 2", "film 4", "film 5"}
    assert {tag.name for hit in hits for tag in hit.contributions} <= set(CONCEPTS)


def test_what_cannot_be_is_said_in_a_line(dual: vtr_core.Model, capsules: vtr_core.Model, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"video 1, feature video .*3"):
        dual.encode_video([np.zeros((2, 3)), np.zeros((2, 4))])
    with pytest.raises(InputError, match="with as many rows of each"):
        capsules.encode_video({"video": np.zeros((2, 3)), "audio": np.zeros((1, 2))})
    with pytest.raises(InputError, match=r"features given are clap \(1 rows\)"):
        capsules.encode_video({"clap": np.zeros((1, 3))})
    with pytest.raises(ConfigError, match="names no recipes"):
        capsules.encode_video([tmp_path / "a.mp4"])
    with pytest.raises(ConfigError, match="explain needs one of 'hybrid_encoder'"):
        capsules.explain("video number1", capsules.encode_video(np.zeros((2, 3))))
    with pytest.raises(InputError, match="2 ids were given for 1 videos"):
        dual.explain("video number1", dual.encode_video([frames(1)]), ids=["a", "b"])
    with pytest.raises(InputError, match=r"take one of them"):
        np.asarray(dual.encode_text("video"))
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        vtr_core.load(tmp_path)


def test_loading_needs_no_ray() -> None:
    code = "import sys, vtr_core; vtr_core.load, vtr_core.Index; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
