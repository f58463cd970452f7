import math

import pytest

from tune_spaces.trial_search import transform_domains, tune_transforms
from vtr_core.analysis.transform_search import Measured, pareto_front
from vtr_core.analysis.transforms import Transform
from vtr_core.config.domains import contains
from vtr_core.errors import ConfigError


def _trade(transform):
    """Accuracy falls and causality grows with the scale; a shift costs both."""
    scale = math.log2(transform.scale)
    return Measured(transform, 0.5 - 0.01 * scale**2 - transform.shift**2, 0.1 * scale - transform.shift**2)


def test_the_identity_and_known_points_come_first_and_points_stay_in_their_domains():
    known = Transform("jaccard", 2.0, 0.5, 1.5)
    found = tune_transforms(_trade, "jaccard", 60, 0, [known])
    assert [one.transform for one in found[:2]] == [Transform("jaccard"), known]
    assert len(found) == 60
    for one in found:
        values = {"power": one.transform.power, "scale": one.transform.scale, "shift": one.transform.shift}
        assert all(contains(domain, values[name]) for name, domain in transform_domains("jaccard").items())


def test_the_same_seed_gives_the_same_points():
    assert tune_transforms(_trade, "jaccard", 70, 3) == tune_transforms(_trade, "jaccard", 70, 3)
    assert tune_transforms(_trade, "jaccard", 70, 3) != tune_transforms(_trade, "jaccard", 70, 4)


def test_the_front_nears_the_true_one():
    """On the true front the shift is 0 and every scale from 1 on is as good as any other."""
    front = pareto_front(tune_transforms(_trade, "jaccard", 600, 0))
    assert len(front) > 10
    assert sum(abs(one.transform.shift) for one in front) / len(front) < 0.2


def test_a_scale_is_not_varied_under_a_cosine():
    assert set(transform_domains("cosine")) == {"power", "shift"}
    assert {one.transform.scale for one in tune_transforms(_trade, "cosine", 10, 0)} == {1.0}


def test_no_points_are_an_error():
    with pytest.raises(ConfigError, match="at least 1"):
        tune_transforms(_trade, "jaccard", 0, 0)
