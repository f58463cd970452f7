import json

import pytest
import torch

from benchmarks.similarity import Flags, broadcast, compare
from tests.reference import losses as reference

FLAGS = Flags(captions=40, videos=24, concepts=33, slice=20, batch=7, rounds=2)


def test_the_straightforward_form_equals_loops():
    generator = torch.Generator().manual_seed(0)
    text, video = torch.rand(9, 5, generator=generator).double(), torch.rand(4, 5, generator=generator).double()
    expected = reference.generalized_jaccard(text.tolist(), video.tolist())
    torch.testing.assert_close(broadcast(text, video, 2), torch.tensor(expected, dtype=torch.float64))


@pytest.fixture(scope="module")
def figures():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "benchmarks.similarity.limits", lambda rounds: {"copy_gb_per_second": 8.0, "minima_per_second": 1e9}
        )
        return {**compare(FLAGS), "device": "a machine", "versions": {}, "command": "it"}


def test_every_form_is_timed_and_agrees(figures):
    assert set(figures["seconds"]) == {"broadcast", "distance", "compiled", "compiled, top 10"}
    assert figures["faster_than_broadcast"]["broadcast"] == 1.0
    assert figures["largest_difference"] < 1e-6
    assert figures["top10_is_that_of_the_matrix"]
    assert set(figures["causality_seconds"]) == {10, 30}
    json.dumps(figures)
