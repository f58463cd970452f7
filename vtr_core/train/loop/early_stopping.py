"""The best validation, the number of validations since then, and the number of plateaus."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from vtr_core.errors import ConfigError
from vtr_core.train.checkpoint.files import Progress


def judge(
    progress: Progress,
    values: Mapping[str, float],
    metric: str,
    plateau_patience: int | None = None,
    plateau: Literal["flat", "old_rate"] = "flat",
) -> Progress:
    """`progress` updated with this step's validation; higher is better, an equal value is no improvement,
    and NaN is none over anything.

    flat: a plateau is reached after `plateau_patience` validations without improvement since the best one, or since the
    last plateau.
    old_rate: it is reached at the first validation without improvement, once the rate has been in use for
    `plateau_patience` validations.
    """
    if metric not in values:
        given = ", ".join(sorted(values)) or "none: no row of it has a feature that the model takes"
        raise ConfigError(f"training.metric is {metric!r}; this validation set gives {given}")
    value = values[metric]
    progress = replace(progress, value=float(value), rate_age=progress.rate_age + 1)
    if _is_better(value, progress.best_value):
        return replace(progress, best_value=value, best_step=progress.step, flat_validations=0, flat_at_rate=0)
    flat = replace(progress, flat_validations=progress.flat_validations + 1, flat_at_rate=progress.flat_at_rate + 1)
    waited = flat.flat_at_rate if plateau == "flat" else flat.rate_age
    if plateau_patience is None or waited < plateau_patience:
        return flat
    return replace(flat, flat_at_rate=0, rate_age=0, plateaus=flat.plateaus + 1)


def _is_better(value: float, best: float | None) -> bool:
    if best is None or math.isnan(best):
        return not math.isnan(value)
    return value > best
