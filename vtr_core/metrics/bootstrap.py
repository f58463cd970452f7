"""Paired bootstrap: the interval of a mean difference over queries that are the same on both sides."""

import numpy as np
from jaxtyping import Float64

from vtr_core.metrics.relevance import MetricError

CONFIDENCE = 0.95
_RESAMPLES = 1000


class PairedBootstrap:
    """Percentile interval (Efron 1979) of a mean over `items` paired differences.

    Every resample draws as many items as there are, with replacement; all differences are judged by the same resamples,
    drawn once with `seed`, so that one difference does not win over another by its draw.
    """

    def __init__(self, items: int, seed: int = 0, resamples: int = _RESAMPLES) -> None:
        if items < 1 or resamples < 1:
            raise MetricError(f"a bootstrap of {items} items in {resamples} resamples; at least one of each")
        drawn = np.random.default_rng(seed).multinomial(items, np.full(items, 1 / items), size=resamples)
        self._shares = drawn / items

    def lower(self, differences: Float64[np.ndarray, " items"], confidence: float = CONFIDENCE) -> float:
        """The lower end of the two-sided interval of the mean difference: its (1 − confidence) / 2 quantile."""
        return float(np.quantile(self._shares @ differences, (1 - confidence) / 2))
