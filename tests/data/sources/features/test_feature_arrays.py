"""Untrusted .npy files, spans, pooling."""

import io
import random

import numpy as np
import pytest

from vtr_core.data.sources.features.feature_arrays import pool, read_feature, to_float16, window
from vtr_core.data.sources.files import check_id, check_path
from vtr_core.storage import locate
from vtr_core.unusable import Reason, UnusableError


def stored(array, **options):
    sink = io.BytesIO()
    np.save(sink, array, **options)
    return sink.getvalue()


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "video.npy"
        path.write_bytes(content)
        return locate(path)

    return write


def test_more_axes_are_flattened_only_on_request(write):
    lips = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    location = write(stored(lips))
    np.testing.assert_array_equal(read_feature(location, flatten=True), lips.reshape(2, 12))
    with pytest.raises(UnusableError, match=r"shape \(2, 3, 4\)"):
        read_feature(location)


FRAMES = np.ones((4, 3), np.float32)
HUGE = stored(FRAMES).replace(b"(4, 3), ", b"(10**9, ").replace(b"(10**9, ", b"(999999999999, 9), ")
BAD = {
    "nothing": (b"", Reason.UNREADABLE_FILE, "not a .npy file"),
    "prose": (b"not a numpy file, but long enough to be one", Reason.UNREADABLE_FILE, "not a .npy file"),
    "truncated header": (stored(FRAMES)[:20], Reason.UNREADABLE_FILE, "not a .npy file"),
    "truncated values": (stored(FRAMES)[:-1], Reason.UNREADABLE_FILE, "truncated: 47 bytes .* needs 48"),
    "a header that promises too much": (HUGE, Reason.UNREADABLE_FILE, ""),
    "pickled objects": (stored(np.array([{}, []], object), allow_pickle=True), Reason.NOT_NUMERIC, "holds object"),
    "text": (stored(np.array(["a", "b"])), Reason.NOT_NUMERIC, "holds <U1; allowed are floats and integers"),
    "complex": (stored(np.ones((2, 3), complex)), Reason.NOT_NUMERIC, "complex128"),
    "truths": (stored(np.ones((2, 3), bool)), Reason.NOT_NUMERIC, "bool"),
    "records": (stored(np.zeros(3, [("a", "f4")])), Reason.NOT_NUMERIC, "holds"),
    "a number": (stored(np.float32(3)), Reason.WRONG_RANK, r"shape \(\)"),
    "three axes": (stored(np.ones((2, 3, 4))), Reason.WRONG_RANK, r"shape \(2, 3, 4\)"),
    "no rows": (stored(np.ones((0, 3))), Reason.WRONG_DIMENSION, r"\(0, 3\), which holds nothing"),
    "NaN": (stored(np.array([[1.0, np.nan]])), Reason.NOT_FINITE, "NaN or infinite"),
    "infinity": (stored(np.array([np.inf, 1], np.float16)), Reason.NOT_FINITE, "NaN or infinite"),
}


@pytest.mark.parametrize(("content", "reason", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_used_is_told_with_its_reason(write, content, reason, message):
    with pytest.raises(UnusableError, match=r"video\.npy.*" + message) as caught:
        read_feature(write(content))
    assert caught.value.reason is reason


def test_a_missing_file_and_a_folder_in_its_place(tmp_path):
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "file").write_bytes(b"")
    for name, reason in (
        ("none.npy", Reason.MISSING_FILE),
        ("file/none.npy", Reason.MISSING_FILE),
        ("folder.npy", Reason.UNREADABLE_FILE),
    ):
        with pytest.raises(UnusableError, match=name) as caught:
            read_feature(locate(tmp_path / name))
        assert caught.value.reason is reason


def test_no_damage_to_the_bytes_gets_past_the_reasons(write):
    rng = random.Random(0)
    whole = stored(np.arange(12, dtype=np.float32).reshape(4, 3))
    for _ in range(2000):
        content = bytearray(whole[: rng.choice([len(whole), rng.randrange(len(whole))])])
        for _ in range(rng.randrange(1, 4)):
            if content:
                content[rng.randrange(len(content))] = rng.randrange(256)
        try:
            array = read_feature(write(bytes(content)))
        except UnusableError:
            continue
        assert array.ndim in (1, 2)
        assert np.isfinite(array).all()


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "..", ".", "", "a\0b", "a\nb", "x" * 300, "é" * 200])
def test_ids_that_are_no_file_names_are_unsafe(name):
    with pytest.raises(UnusableError, match="cannot be a file name") as caught:
        check_id(name)
    assert caught.value.reason is Reason.UNSAFE_ID


@pytest.mark.parametrize("path", ["../x.npy", "a/../../x.npy", "/etc/x.npy", "s3://other/x.npy", "a\\..\\x", "a\0"])
def test_paths_that_lead_out_are_unsafe(path):
    with pytest.raises(UnusableError, match="leads out of its folder") as caught:
        check_path(path)
    assert caught.value.reason is Reason.UNSAFE_ID


ROWS = np.random.default_rng(0).standard_normal((10, 4))


@pytest.mark.parametrize("fps", [1.0, 1.5, 0.3, 25.0])
def test_a_window_holds_the_rows_of_the_published_slice(fps):
    for start in np.arange(0, 9, 0.7):
        for end in np.arange(start + 0.1, 20, 1.3):
            expected = [ROWS[r] for r in range(int(start * fps), int(end * fps) + 1) if r < len(ROWS)]
            if expected:
                np.testing.assert_array_equal(window(ROWS, start, end, fps), expected)
            else:
                with pytest.raises(UnusableError, match="begins after the last of 10 rows") as caught:
                    window(ROWS, start, end, fps)
                assert caught.value.reason is Reason.OUTSIDE_FEATURES


def test_pools_over_time_by_hand():
    columns = [[float(ROWS[t, d]) for t in range(10)] for d in range(4)]
    means = [sum(column) / 10 for column in columns]
    deviations = [(sum((x - m) ** 2 for x in column) / 10) ** 0.5 for column, m in zip(columns, means, strict=True)]
    np.testing.assert_allclose(pool(ROWS, "max"), [max(column) for column in columns])
    np.testing.assert_allclose(pool(ROWS, "mean"), means)
    np.testing.assert_allclose(pool(ROWS, "mean_std"), means + deviations)


def test_float16_rows_are_pooled_without_overflow():
    rows = np.full((40, 2), 60000, np.float16)
    assert pool(rows, "mean").tolist() == [60000, 60000]


def test_values_that_float16_cannot_hold_are_not_finite():
    assert to_float16(np.array([65504.0, -1.0]), "clip").dtype == np.float16
    for value in (65520.0, -1e9, np.inf, np.nan):
        with pytest.raises(UnusableError, match=r"clip7.*at most 65504") as caught:
            to_float16(np.array([1.0, value]), "clip7")
        assert caught.value.reason is Reason.NOT_FINITE


@pytest.mark.parametrize("values", [1e-9, -1e-9, 2e-7, -(2.0**-19)])
def test_values_that_float16_loses_are_refused(values: float) -> None:
    with pytest.raises(UnusableError, match=r"x: the largest value is .* scale the features to values") as caught:
        to_float16(np.array([[0.0, values], [0.0, values / 2]]), "x")
    assert caught.value.reason is Reason.NOT_FINITE


@pytest.mark.parametrize("values", [0.0, 1e-5, -1e-5, 65504.0])
def test_values_that_float16_holds_are_kept(values: float) -> None:
    kept = to_float16(np.array([values, 0.0]), "x")
    assert kept.tolist() == pytest.approx([values, 0], rel=0.01)
