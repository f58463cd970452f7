"""A table's rows become what data sets hold, and what does not fit is named by row and column."""

import numpy as np
import pandas as pd
import pytest

from vtr_core.embedding.data_frames import columns_of, embeddings_frame
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.errors import InputError
from vtr_core.text.tokens.vocabulary import Vocabulary

WORDS = Vocabulary(("man", "cooks", "rice"))
FEATURES = {"video": 3, "audio": 2}


def test_the_columns_are_those_of_a_data_set() -> None:
    frame = pd.DataFrame(
        {
            "caption": ["A man cooks rice, rice", None, "unknown", float("nan")],
            "video": [[1, 2, 3], np.array([0.1, 0.2, 0.3]), None, float("nan")],
        }
    )
    columns = columns_of(frame, FEATURES, WORDS, max_words=3)
    np.testing.assert_array_equal(columns["tokens"], [[1, 2, 3], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    assert columns["video"].dtype == np.float16
    np.testing.assert_array_equal(columns["video"][1], np.array([0.1, 0.2, 0.3], np.float16))
    assert columns["has_video"].tolist() == [True, True, False, False]
    assert "audio" not in columns
    assert {len(columns[key]) for key in ("clip_key", "video_key", "caption_key")} == {4}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"video": [[1.0, 2.0]]}, r"row 'a', column video has the shape \(2,\), the model was trained on vectors of 3"),
        ({"video": [[[1.0, 2.0, 3.0]]]}, r"shape \(1, 3\)"),
        ({"video": [[]]}, r"shape \(0,\)"),
        ({"video": [7.0]}, r"shape \(\)"),
        ({"video": ["words"]}, "row 'a', column video is no vector of numbers"),
        ({"video": [[1.0, [2.0], 3.0]]}, "is no vector of numbers"),
        (
            {"video": [[1.0, float("nan"), 3.0]]},
            "column video: values that are not finite or exceed the range of float16",
        ),
        ({"video": [[1.0, 70_000.0, 3.0]]}, "column video: .* exceed the range of float16"),
        ({"video": [[1e-9, 0.0, -3e-9]]}, r"column video: the largest value is 3e-09, which float16 rounds to 0"),
        ({"caption": [7]}, "row 'a', column caption: int is no text"),
        ({"caption": ["a"], "title": ["b"]}, r"columns caption, title; .*caption of texts.*video \(3 values\), audio"),
        ({}, r"columns \(none\)"),
    ],
)
def test_what_does_not_fit_is_named(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        columns_of(pd.DataFrame(columns, index=["a"] if columns else None), FEATURES, WORDS, max_words=3)


def test_embeddings_stand_under_the_names_of_what_was_given() -> None:
    vectors = {name: np.full((2, 4), i, np.float32) for i, name in enumerate(("text", "video", "audio"))}
    present = {"text": np.array([True, False]), "video": np.array([False, True]), "audio": np.array([False, False])}
    keys = np.zeros(2, np.int64)
    frame = pd.DataFrame({"caption": ["x", "y"], "video": [None, [1.0]]}, index=["p", "q"])
    out = embeddings_frame(EmbeddedRows(vectors, present, keys, keys), frame)
    assert list(out.columns) == ["text", "video"]
    assert list(out.index) == ["p", "q"]
    np.testing.assert_array_equal(out.loc["p", "text"], vectors["text"][0])
    np.testing.assert_array_equal(out.loc["q", "video"], vectors["video"][1])
    assert out.loc["q", "text"] is None
    assert out.loc["p", "video"] is None
