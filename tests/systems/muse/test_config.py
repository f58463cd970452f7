"""What MUSE's configuration refuses, and that it goes through JSON."""

import pytest
from pydantic import ValidationError

from vtr_core.config.towers import MambaLearner
from vtr_core.systems.muse.config import MuseConfig


def test_defaults_are_the_papers():
    config = MuseConfig()
    assert config.scales == (1, 3, 7, 14)
    assert config.learner == MambaLearner(layers=4, expansion=1, state=16, conv=4, scan="v2", scan_backend="auto")
    assert config.aggregation == "scale"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scales": (3, 7)}, "must hold 1"),
        ({"scales": (1, 3, 3)}, "each scale once"),
        ({"scales": ()}, "at least 1 item"),
        ({"scales": (1, 10)}, "scale 10 cannot be made of a 7 × 7 grid; 1, …, 7, 14 and 28 can"),
        ({"grid": None}, "without a grid use scales = "),
        ({"temporal_scales": (1,)}, "greater than or equal to 2"),
        ({"temporal_scales": (2,), "aggregation": "spatial"}, "use no temporal_scales"),
    ],
)
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(ValidationError, match=message):
        MuseConfig(**settings)


def test_any_scale_set_of_any_grid():
    assert MuseConfig(grid=14, scales=(1, 2, 13, 14, 28, 56)).grid == 14
    assert MuseConfig(grid=None, scales=(1,), temporal_scales=(2, 4, 8)).grid is None
