"""What a sweep needs of the cluster before its first trial."""

import pytest

from pipelines.sweep.driver import require_population
from vtr_core.errors import ClusterError


def test_a_population_trains_at_the_same_time() -> None:
    require_population("pbt", 2)
    require_population("asha", 1)
    with pytest.raises(ClusterError, match="only one fits here; lower"):
        require_population("pbt", 1)
