"""What decoders and networks pass on through Ray Data: plain columns, from which the parts are made again."""

from dataclasses import replace

import numpy as np
import pytest

from vtr_core.extraction.features import Rows
from vtr_core.extraction.on_ray import _Decoded, _from_row, _gathered, _to_row
from vtr_core.storage import StorageError
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.process import DecoderError
from vtr_core.video.streams import Chunk, End

PICTURES = np.array([b"one\0", b"", b"two"], object)


@pytest.mark.parametrize(
    ("part", "features"),
    [
        (_Decoded(3, chunk=Chunk(1, 7, np.zeros((2, 3, 4, 3), np.uint8))), []),
        (_Decoded(3, end=End(3.5, 12, True, "a remark"), chunks=4), []),
        (_Decoded(0, fault=UnusableError(Reason.NO_SOUND, "a\0b")), []),
        (_Decoded(3, stopped=("StorageError", "the store fails")), []),
        (_Decoded(3, chunks=1), [Rows(0, 7, np.float32([[1, 0]])), Rows(2, 7, PICTURES)]),
    ],
)
def test_parts_are_rows_of_plain_columns(part: _Decoded, features: list[Rows]) -> None:
    """Also where arrays end with zeros."""
    row = _to_row(part, features)
    assert {name: type(value) for name, value in row.items()} == {"part": str, "bytes": bytes}
    restored, rows = _from_row(row)
    assert repr(restored.fault) == repr(part.fault)
    assert replace(restored, chunk=None, fault=None) == replace(part, chunk=None, fault=None)
    if part.chunk is not None:
        assert restored.chunk is not None
        assert (restored.chunk.stream, restored.chunk.index) == (part.chunk.stream, part.chunk.index)
        np.testing.assert_array_equal(restored.chunk.values, part.chunk.values, strict=True)
    for made, expected in zip(rows, features, strict=True):
        assert (made.recipe, made.chunk) == (expected.recipe, expected.chunk)
        np.testing.assert_array_equal(made.values, expected.values, strict=True)


@pytest.mark.parametrize("error", [StorageError("the store fails"), DecoderError("no decoder begins")])
def test_what_concerns_every_video_ends_the_extraction(error: Exception) -> None:
    part = _from_row(_to_row(_Decoded(3, stopped=(type(error).__name__, str(error)))))
    with pytest.raises(type(error), match=str(error)):
        list(_gathered(iter([part]), ["video"] * 4, ["recipe"]))
