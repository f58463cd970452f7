"""Numbers of workers: fixed or a span, always ones that divide the batch."""

import pytest

from vtr_core.config.override import override
from vtr_core.errors import ConfigError
from vtr_core.run.presets import preset

TINY = preset("capsule-howto-tiny")


def test_a_fixed_number() -> None:
    config = override(TINY, {"batch.videos": 4, "batch.clips_per_video": 3, "scaling.workers": 2})
    assert config.worker_counts == (2,)
    assert config.scaling.fewest == 2
    assert config.scaling.span == "2"


def test_a_span_uses_what_divides_the_rows() -> None:
    changes = {"batch.videos": 4, "batch.clips_per_video": 3, "scaling.workers": 6, "scaling.min_workers": 1}
    config = override(TINY, changes)
    assert config.worker_counts == (1, 2, 3, 4, 6)
    assert config.scaling.span == "1-6"


@pytest.mark.parametrize(
    ("workers", "fewest", "message"),
    [
        (5, None, r"12 rows cannot be divided by scaling.workers = 5; .* or 3, 4, 6 workers"),
        (6, 5, r"12 rows cannot be divided by scaling.min_workers = 5"),
        (2, 3, r"scaling.min_workers = 3 is more than scaling.workers = 2"),
    ],
)
def test_what_does_not_fit_is_refused(workers: int, fewest: int | None, message: str) -> None:
    batch = {"batch.videos": 4, "batch.clips_per_video": 3}
    with pytest.raises(ConfigError, match=message):
        override(TINY, {**batch, "scaling.workers": workers, "scaling.min_workers": fewest})
