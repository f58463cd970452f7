import numpy as np
import pytest

from vtr_core.data.sources.features import feature_arrays
from vtr_core.data.sources.features.feature_folder import FrameFolder
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.errors import InputError
from vtr_core.storage import locate

FRAMES = np.arange(1, 13, dtype=np.float32).reshape(4, 3) * 100


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "a.npy", FRAMES)
    np.save(tmp_path / "b.npy", FRAMES[:2])
    np.save(tmp_path / "one.npy", FRAMES[0])
    np.save(tmp_path / "patches.npy", np.arange(24).reshape(2, 4, 3))
    np.save(tmp_path / "nan.npy", np.where(FRAMES > 500, np.nan, FRAMES))
    np.save(tmp_path / "inf.npy", np.where(FRAMES > 500, np.inf, FRAMES))
    np.save(tmp_path / "large.npy", FRAMES * 1000)
    np.save(tmp_path / "none.npy", np.zeros((0, 3)))
    (tmp_path / "broken.npy").write_bytes(b"?")
    return FrameFolder(locate(str(tmp_path)))


def test_frames_are_stored_as_they_are_and_not_normalised(folder):
    frames = folder.read("a", 3)
    assert frames.dtype == np.float16
    assert frames.tolist() == FRAMES.tolist()


def test_a_vector_is_one_frame_and_further_axes_are_flattened(folder):
    assert folder.read("one").tolist() == FRAMES[:1].tolist()
    assert folder.read("patches").tolist() == np.arange(24).reshape(2, 12).tolist()


FAULTS = {
    "nan": (Reason.NOT_FINITE, "NaN or infinite"),
    "inf": (Reason.NOT_FINITE, "NaN or infinite"),
    "large": (Reason.NOT_FINITE, "exceed the range of float16"),
    "none": (Reason.WRONG_DIMENSION, "holds nothing"),
    "patches": (Reason.WRONG_DIMENSION, "has 12 values a frame; this data set has 3"),
    "broken": (Reason.UNREADABLE_FILE, "not a .npy file"),
    "missing": (Reason.MISSING_FILE, "there is no file"),
    "../a": (Reason.UNSAFE_ID, "cannot be a file name"),
}


@pytest.mark.parametrize(("name", "reason", "message"), [(name, *fault) for name, fault in FAULTS.items()])
def test_what_cannot_be_kept_is_told_with_its_reason(folder, name, reason, message):
    with pytest.raises(UnusableError, match=message) as caught:
        folder.read(name, 3)
    assert caught.value.reason is reason


def test_more_frames_than_a_row_holds_are_refused(folder, monkeypatch):
    monkeypatch.setattr(feature_arrays, "MAX_CELL_BYTES", 23)
    with pytest.raises(UnusableError, match="has 4 frames of 3 values; a row holds") as caught:
        folder.read("a")
    assert caught.value.reason is Reason.WRONG_DIMENSION


def test_the_dimension_is_that_of_most_of_the_first_readable_files(folder):
    assert folder.dim(["missing", "nan", "patches", "a", "b"]) == 3
    with pytest.raises(InputError, match=r"no feature file in .* can be used .*there is no file"):
        folder.dim(["missing"])
