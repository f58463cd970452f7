"""What decoders and networks pass on through Ray Data: plain columns, from which the parts are made again."""

from dataclasses import replace

import numpy as np
import pytest

from vtr_core.data.sources.reasons import Reason
from vtr_core.extraction.features import Unusable
from vtr_core.extraction.in_process import Piece
from vtr_core.extraction.networks import Rows
from vtr_core.extraction.on_ray import _Decoded, _from_row, _to_row
from vtr_core.video.streams import Chunk, End, Span

PIECE = Piece(3, "s3://bucket/ü.mp4", Span((0, 2), 16.0), 5)
PICTURES = np.array([b"one\0", b"", b"two"], object)


@pytest.mark.parametrize(
    ("part", "seen"),
    [
        (_Decoded(PIECE, chunk=Chunk(1, 7, np.zeros((2, 3, 4, 3), np.uint8))), []),
        (_Decoded(PIECE, end=End(3.5, 0.0, 12, True), chunks=4), []),
        (_Decoded(replace(PIECE, span=None), fault=Unusable(Reason.NO_SOUND, "a\0b")), []),
        (_Decoded(PIECE, stopped="the store fails"), []),
        (_Decoded(PIECE, chunks=1), [Rows(0, 7, np.float32([[1, 0]])), Rows(2, 7, PICTURES)]),
    ],
)
def test_parts_are_rows_of_plain_columns(part: _Decoded, seen: list[Rows]) -> None:
    """Also where arrays end with zeros."""
    row = _to_row(part, seen)
    assert {name: type(value) for name, value in row.items()} == {"part": str, "bytes": bytes}
    found, rows = _from_row(row)
    assert replace(found, chunk=None) == replace(part, chunk=None)
    if part.chunk is not None:
        assert found.chunk is not None
        assert (found.chunk.stream, found.chunk.index) == (part.chunk.stream, part.chunk.index)
        np.testing.assert_array_equal(found.chunk.values, part.chunk.values, strict=True)
    for one, expected in zip(rows, seen, strict=True):
        assert (one.recipe, one.chunk) == (expected.recipe, expected.chunk)
        np.testing.assert_array_equal(one.values, expected.values, strict=True)
