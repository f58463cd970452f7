"""Which captions of a video stand beside a clip's own as candidates."""

from pathlib import Path

import numpy as np

from tests.builders.toy import toy_dataset
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.plan import Plan, candidate_tokens, nearest_rows
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.stream.assemble import assemble


def slow(video: np.ndarray, middle: np.ndarray, usable: np.ndarray, extra: int) -> np.ndarray:
    rows = []
    for i in range(len(video)):
        others = [j for j in range(len(video)) if j != i and video[j] == video[i] and usable[j]]
        others.sort(key=lambda j: (abs(middle[j] - middle[i]), j))
        rows.append([*others, *[i] * extra][:extra])
    return np.array(rows).reshape(len(video), extra)


def test_the_nearest_of_the_same_video_as_by_slow_search() -> None:
    generator = np.random.default_rng(0)
    for _ in range(30):
        sizes = generator.integers(1, 7, size=4)
        video = np.repeat(generator.permutation(4), sizes).astype(np.int64)
        middle = generator.integers(0, 5, size=len(video)).astype(float)  # ties
        usable = generator.random(len(video)) > 0.3
        extra = int(generator.integers(0, 5))
        np.testing.assert_array_equal(nearest_rows(video, middle, usable, extra), slow(video, middle, usable, extra))


def test_a_bag_is_empty_only_where_its_own_caption_is() -> None:
    tokens = np.array([[1, 0], [0, 0], [2, 3]], np.int32)
    found = candidate_tokens(tokens, np.zeros(3, np.int64), np.arange(3.0), np.arange(3.0) + 1, 2)
    assert found.tolist() == [[[2, 3], [1, 0]], [[1, 0], [2, 3]], [[1, 0], [2, 3]]]


def test_batches_carry_the_candidates_of_their_rows(tmp_path: Path) -> None:
    (manifest,) = toy_dataset(tmp_path, clips_of=(3, 4, 5))
    batch = BatchConfig(videos=3, clips_per_video=2, candidates=3)
    plan = Plan(manifest, batch, seed=0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema, plan.extra_captions))
    (columns,) = assemble(reader, plan.row_groups, plan.window(0), plan.extra_captions)
    assert columns["candidate_tokens"].shape == (6, 2, manifest.schema.max_words)
    assert "start" not in columns
    # all captions of a toy video are alike, so a row's candidates are its own caption, and not another video's
    np.testing.assert_array_equal(columns["candidate_tokens"], np.repeat(columns["tokens"][:, None], 2, axis=1))
