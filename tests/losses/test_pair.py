"""Losses of pairs: golden values, slow code."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import siamese as reference
from vtr_core.losses.pair import contrastive, double_margin

DISTANCES = torch.tensor([0.05, 0.15, 0.25, 0.45, 0.6, 0.9], dtype=torch.float64)
DIFFERENT = torch.tensor([False, True, False, True, False, True])


def test_golden_values():
    assert float(contrastive(DISTANCES, DIFFERENT, 0.4)) == pytest.approx(0.575, abs=1e-12)
    assert float(double_margin(DISTANCES, DIFFERENT, 0.5, 0.2)) == pytest.approx(0.2875, abs=1e-12)
    assert float(contrastive(DISTANCES, DIFFERENT.double(), 0.4)) == pytest.approx(0.575, abs=1e-12)


PAIRS = st.lists(st.tuples(st.floats(0, 4), st.booleans()), min_size=1, max_size=20)


@given(PAIRS, st.floats(0.1, 2), st.floats(0, 0.1))
def test_slow_code(pairs, margin, low):
    distances, different = [d for d, _ in pairs], [y for _, y in pairs]
    d, y = torch.tensor(distances, dtype=torch.float64), torch.tensor(different)
    expected = reference.contrastive(distances, different, margin)
    assert float(contrastive(d, y, margin)) == pytest.approx(expected)
    assert float(contrastive(d, y, margin, "mean")) == pytest.approx(expected / len(pairs))
    assert contrastive(d, y, margin, "none").shape == (len(pairs),)
    assert float(double_margin(d, y, margin, low)) == pytest.approx(
        reference.double_margin(distances, different, margin, low)
    )
