"""Feature files in folders: pooled clips, frames, and their dimensions."""

import numpy as np
import pytest

from vtr_core.data.sources.features import feature_arrays
from vtr_core.data.sources.features.feature_folder import FAULTS, FeatureFolder, FrameFolder
from vtr_core.errors import InputError
from vtr_core.storage import locate
from vtr_core.unusable import Reason, UnusableError


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    np.save(tmp_path / "a.npy", np.arange(12.0).reshape(6, 2))
    np.save(tmp_path / "b.npy", np.arange(10.0).reshape(2, 5))
    np.save(tmp_path / "c.npy", np.ones((3, 2)))
    np.save(tmp_path / "d.npy", np.ones(2))
    np.save(tmp_path / "sub" / "e.npy", np.arange(12.0).reshape(3, 2, 2))
    (tmp_path / "broken.npy").write_bytes(b"?")
    return locate(tmp_path)


def test_a_clip_is_its_window_pooled_and_normalised(folder):
    stream = FeatureFolder(folder, "max", fps=2.0)
    array = stream.read("a")
    np.testing.assert_allclose(stream.clip("a", array, 0.5, 1.0), np.array([4, 5]) / np.hypot(4, 5))
    np.testing.assert_allclose(stream.clip("a", array, 0.0, None), np.array([10, 11]) / np.hypot(10, 11))
    assert FeatureFolder(folder, "mean", normalise=False).clip("a", array, 1.0, 2.0).tolist() == [3, 4]
    assert stream.duration(array) == 3.0


def test_the_dimension_is_that_of_most_of_the_first_readable_files(folder):
    assert FeatureFolder(folder, "max").dim(["missing", "../a", "broken", "b", "a", "c"]) == 2
    assert FeatureFolder(folder, "mean_std").dim(["a"]) == 4


def test_a_folder_without_a_readable_file_is_an_error_with_the_first_fault(folder):
    with pytest.raises(InputError, match=r"no feature file in .* can be used \(there is no file .*/x\.npy\)"):
        FeatureFolder(folder, "max").dim(["x", "broken"])
    with pytest.raises(InputError, match="none is named"):
        FeatureFolder(folder, "max").dim([])


def test_a_folder_that_is_not_there_is_told_after_a_few_names(folder, monkeypatch):
    def endless(most):
        for number in range(most + 1):
            assert number < most
            yield f"gone{number}"

    with pytest.raises(InputError, match=r"no feature file in .*mistyped can be used"):
        FeatureFolder(folder / "mistyped", "max").dim(endless(FAULTS))
    monkeypatch.setattr("vtr_core.data.sources.features.feature_folder.MOST_FAULTS", 300)
    with pytest.raises(InputError, match="no feature file"):
        FeatureFolder(folder, "max").dim(endless(300))
    assert FeatureFolder(folder, "max").dim([f"gone{number}" for number in range(299)] + ["b"]) == 5


def test_another_dimension_is_told_with_the_file_and_both_numbers(folder):
    with pytest.raises(UnusableError, match=r"b\.npy has shape \(2, 5\), which gives 5 values.*has 2") as caught:
        FeatureFolder(folder, "max").read("b", dim=2)
    assert caught.value.reason is Reason.WRONG_DIMENSION


def test_names_are_ids_unless_they_are_paths(folder):
    with pytest.raises(UnusableError, match="cannot be a file name"):
        FeatureFolder(folder, "max").read("sub/e")
    by_path = FeatureFolder(folder, "max", by_path=True)
    assert by_path.read("sub/e.npy").shape == (3, 4)
    with pytest.raises(UnusableError, match="leads out"):
        by_path.read("../a.npy")


FRAMES = np.arange(1, 13, dtype=np.float32).reshape(4, 3) * 100


@pytest.fixture
def frames_folder(tmp_path):
    np.save(tmp_path / "a.npy", FRAMES)
    np.save(tmp_path / "b.npy", FRAMES[:2])
    np.save(tmp_path / "one.npy", FRAMES[0])
    np.save(tmp_path / "patches.npy", np.arange(24).reshape(2, 4, 3))
    np.save(tmp_path / "nan.npy", np.where(FRAMES > 500, np.nan, FRAMES))
    np.save(tmp_path / "inf.npy", np.where(FRAMES > 500, np.inf, FRAMES))
    np.save(tmp_path / "large.npy", FRAMES * 1000)
    np.save(tmp_path / "small.npy", FRAMES * 1e-12)
    np.save(tmp_path / "none.npy", np.zeros((0, 3)))
    (tmp_path / "broken.npy").write_bytes(b"?")
    return FrameFolder(locate(str(tmp_path)))


def test_frames_are_stored_as_they_are_and_not_normalised(frames_folder):
    frames = frames_folder.read("a", 3)
    assert frames.dtype == np.float16
    assert frames.tolist() == FRAMES.tolist()


FRAME_FAULTS = {
    "nan": (Reason.NOT_FINITE, "NaN or infinite"),
    "inf": (Reason.NOT_FINITE, "NaN or infinite"),
    "large": (Reason.NOT_FINITE, "exceed the range of float16"),
    "small": (Reason.NOT_FINITE, "which float16 rounds to 0 or to a digit; scale the features"),
    "none": (Reason.WRONG_DIMENSION, "holds nothing"),
    "patches": (Reason.WRONG_DIMENSION, "has 12 values a frame; this data set has 3"),
    "broken": (Reason.UNREADABLE_FILE, "not a .npy file"),
    "missing": (Reason.MISSING_FILE, "there is no file"),
    "../a": (Reason.UNSAFE_ID, "cannot be a file name"),
}


@pytest.mark.parametrize(("name", "reason", "message"), [(name, *fault) for name, fault in FRAME_FAULTS.items()])
def test_what_cannot_be_kept_is_told_with_its_reason(frames_folder, name, reason, message):
    with pytest.raises(UnusableError, match=message) as caught:
        frames_folder.read(name, 3)
    assert caught.value.reason is reason


def test_more_frames_than_a_row_holds_are_refused(frames_folder, monkeypatch):
    monkeypatch.setattr(feature_arrays, "MAX_CELL_BYTES", 23)
    with pytest.raises(UnusableError, match="has 4 frames of 3 values; a row holds") as caught:
        frames_folder.read("a")
    assert caught.value.reason is Reason.WRONG_DIMENSION
