import math

import pytest
import torch

from vtr_core.config.losses import InfoNceConfig, TemperatureConfig
from vtr_core.losses.objective import Temperature

LEARNED = TemperatureConfig(temperature=0.05, learnable_temperature=True, max_scale=25.0)


def test_the_scale_stops_at_its_maximum_and_comes_back():
    temperature, like = Temperature(LEARNED), torch.zeros(1)
    with torch.no_grad():
        temperature.log_scale += 3
    scale = temperature(like)
    assert scale.item() == pytest.approx(25)
    assert temperature.log_scale.item() == pytest.approx(math.log(25))
    scale.backward()
    assert temperature.log_scale.grad.item() == pytest.approx(25)
    with torch.no_grad():
        temperature.log_scale -= 0.1 * temperature.log_scale.grad / 25
    assert temperature(like).item() == pytest.approx(25 * math.exp(-0.1))


def test_a_temperature_that_starts_beyond_the_maximum_is_refused():
    with pytest.raises(ValueError, match=r"1/max_scale = 0\.01"):
        InfoNceConfig(temperature=0.001, learnable_temperature=True)
    assert InfoNceConfig(temperature=0.001).temperature == 0.001
