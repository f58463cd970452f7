"""Which validation was the best, and how many since then were not."""

from collections.abc import Mapping
from dataclasses import replace

from vtr_core.errors import ConfigError
from vtr_core.train.checkpoint import Progress


def judge(progress: Progress, values: Mapping[str, float], metric: str) -> Progress:
    """`progress` with this step's validation taken into account; higher is better, an equal value is no gain."""
    if metric not in values:
        raise ConfigError(f"training.metric is {metric!r}; this validation set gives {', '.join(sorted(values))}")
    value = values[metric]
    progress = replace(progress, value=float(value))
    if progress.best_value is None or value > progress.best_value:
        return replace(progress, best_value=value, best_step=progress.step, flat_validations=0)
    return replace(progress, flat_validations=progress.flat_validations + 1)
