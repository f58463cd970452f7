"""Use of capsules: means, entropies and dead capsules."""

import numpy as np
import pytest

from vtr_core.analysis.concept_profiles import capsule_usage


def test_moments_and_leads() -> None:
    values = np.random.default_rng(0).random((30, 12)).astype(np.float32)
    usage = capsule_usage(values)
    np.testing.assert_allclose(usage.mean, values.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(usage.deviation, values.std(axis=0), rtol=1e-5)
    led = [sum(c in sorted(range(12), key=lambda j: -row[j])[:5] for row in values) for c in range(12)]
    assert usage.led.tolist() == led
    assert usage.clips == 30


def test_flat_capsules_and_those_that_never_lead_are_dead() -> None:
    """Capsule 0 hardly varies, though it always leads; capsule 3 varies, but is the weakest; two of four lead."""
    rng = np.random.default_rng(1)
    values = rng.uniform(0.2, 0.4, (50, 4))
    values[:, 0] = 0.7 + 0.001 * rng.random(50)
    values[:, 3] = 0.1 * rng.random(50)
    usage = capsule_usage(values.astype(np.float32))
    assert usage.led[[0, 3]].tolist() == [50, 0]
    assert usage.flat.tolist() == [True, False, False, False]
    assert usage.dead.tolist() == [True, False, False, True]


def test_entropy_is_a_clips_and_not_that_of_all_clips_together() -> None:
    """A capsule of its own for every clip: each clip has chosen one, although all are used equally."""
    assert capsule_usage(np.eye(4, dtype=np.float32)).entropy == pytest.approx(0)
    assert capsule_usage(np.zeros((2, 4), np.float32)).entropy == 0
    rows = np.random.default_rng(0).random((5, 4), np.float32)
    slow = [-sum(p * np.log2(p) for p in row / row.sum()) for row in rows.astype(np.float64)]
    assert capsule_usage(rows).entropy == pytest.approx(np.mean(slow))
