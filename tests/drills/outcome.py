"""What a drill showed: the fault, how the run went on, and what it cost."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """One row of the table that `make drills` prints. A drill that does not recover fails, and has no row."""

    fault: str
    """What was done to the run: "SIGKILL of a train worker"."""
    recovered: str
    """How it went on: "by itself", "with vtr train --resume"."""
    steps_lost: int
    """Optimiser steps that had to be done again."""
    seconds: float | None
    """From the fault to the first step after it; None where nothing had to recover."""
