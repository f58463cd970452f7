"""The page of hardest pairs: which pairs, and ids that are shown and not obeyed."""

import base64
import io

import numpy as np
import torch
from PIL import Image

from tests.builders.made_faces import face
from vtr_core.data.reading.evaluated_rows import ImageRows
from vtr_core.data.records.annotations import FacePair
from vtr_core.systems.siamese.verification import ScoredPairs, hardest_pairs, picture, render_hardest

IDS = ("<b>a</b>/1", "a/2", "b/1")
ROWS = ImageRows(IDS, ("a", "a", "b"), torch.stack([torch.from_numpy(face(1, i))[None] for i in range(3)]))
SCORED = ScoredPairs(
    pairs=(FacePair(IDS[0], IDS[1], False), FacePair(IDS[0], IDS[2], True), FacePair(IDS[1], IDS[2], True)),
    subjects=(("a", "a"), ("a", "b"), ("a", "b")),
    distance=np.array([0.9, 0.2, 0.8]),
)


def test_the_hardest_come_first_and_wrong_ones_are_marked():
    matching, different = hardest_pairs(SCORED, ROWS, 0.5, 5)
    assert [(pair.distance, pair.wrong) for pair in matching.pairs] == [(0.9, True)]
    assert [(pair.distance, pair.wrong) for pair in different.pairs] == [(0.2, True), (0.8, False)]


def test_ids_are_escaped():
    page = render_hardest([("test", hardest_pairs(SCORED, ROWS, 0.5, 5))], "<script>x</script>", 0.5)
    assert "<b>a</b>" not in page
    assert "<script>" not in page
    assert "&lt;b&gt;a&lt;/b&gt;/1" in page
    assert page.count('class="wrong"') == 2
    assert "Up to a distance of 0.500 two pictures" in page


def test_a_picture_is_the_image():
    content = base64.b64decode(picture(ROWS.pixels[1]).removeprefix("data:image/png;base64,"))
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(content))), face(1, 1))
