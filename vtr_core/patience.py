"""Time-outs of what commands depend on: environment variables, in seconds.

The defaults are those that a slow, busy machine needs. What fails is reported when it fails; only what does not answer
at all, or goes on failing in a way that may pass, is waited for as long as this.
"""

import os
from dataclasses import dataclass

from vtr_core.errors import ConfigError


@dataclass(frozen=True)
class PatienceSetting:
    """An environment variable that says how long something is waited for, and the seconds where it is not set."""

    variable: str
    default_s: float

    def seconds(self) -> float:
        """The seconds to wait; ConfigError where the variable is no number of seconds, 0 or more."""
        text = os.environ.get(self.variable) or str(self.default_s)
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < float("inf"):
            raise ConfigError(f"{self.variable} is {text!r}; it must be a number of seconds, 0 or more")
        return seconds


S3 = PatienceSetting("VTR_S3_PATIENCE_S", 120.0)
"""Timeout of an S3-compatible store that is unreachable, throttles or answers 5xx."""
MLFLOW = PatienceSetting("VTR_MLFLOW_PATIENCE_S", 120.0)
"""Timeout of an MLflow store at the start of a run, which then trains without it, and at its end."""
RAY = PatienceSetting("VTR_RAY_PATIENCE_S", 300.0)
"""Timeout of Ray's servers: to start on this machine, to list nodes, to answer while a job is followed."""
SWEEP = PatienceSetting("VTR_SWEEP_PATIENCE_S", 300.0)
"""Timeout of a sweep's trial: to write its checkpoint, to end, and to release its folder."""
SETTINGS = (S3, MLFLOW, RAY, SWEEP)
