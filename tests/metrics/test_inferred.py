import numpy as np
import pytest

from tests.reference import inferred as reference
from vtr_core.errors import VtrError
from vtr_core.metrics.average_precision import Judgement, inferred_average_precision

RELEVANT = {1: True, 0: False, -1: None}


def _pool(qrels):
    return {name: Judgement(stratum, RELEVANT[value]) for name, (stratum, value) in qrels.items()}


def test_by_hand_with_two_strata():
    """Stratum a: judged in full, 1 of 2 relevant. Stratum b: 2 of 4 judged, 1 relevant, so 2 are estimated relevant."""
    pool = _pool({"a1": ("a", 1), "a2": ("a", 0), "b1": ("b", -1), "b2": ("b", 0), "b3": ("b", 1), "b4": ("b", -1)})
    result = inferred_average_precision(["a1", "outside", "b1", "b2", "b3", "b4", "a2"], pool)
    above = 1 * (1 + 1e-5) / (1 + 3e-5) + 2 * 1e-5 / (1 + 3e-5)  # a1; b1 and b2, of which b2 is judged
    at_b3 = 1 / 5 + above / 5
    assert result.value == pytest.approx((1 * 1 + 2 * at_b3) / 3, abs=1e-12)
    assert result.num_relevant == 3


@pytest.mark.parametrize("max_results", [1000, 40, 5])
def test_equals_slow_code(max_results):
    generator = np.random.default_rng(3)
    for _ in range(20):
        qrels = {f"s{i}": (str(generator.integers(3)), int(generator.integers(-1, 2))) for i in range(60)}
        ranking = [f"s{i}" for i in generator.permutation(90)]
        result = inferred_average_precision(ranking, _pool(qrels), max_results=max_results)
        expected = reference.inferred_average_precision(ranking, qrels, max_results)
        assert result.value == pytest.approx(expected, abs=1e-12)


def test_no_relevant_item_and_a_repeated_one():
    pool = _pool({"a": ("1", 0), "b": ("1", -1)})
    assert inferred_average_precision(["a", "b"], pool).value == 0.0
    with pytest.raises(VtrError, match="item a occurs more than once"):
        inferred_average_precision(["a", "b", "a"], pool)
