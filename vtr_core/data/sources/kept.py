"""Rows without features that stay in a test set, so that its number of queries is that of the protocol.

Training data drops such rows. A test set must not: the figures of two models would be means over different queries.
"""

from vtr_core.data.sources.reasons import UnusableError
from vtr_core.data.sources.source import Drops

KEPT = "kept_without_features"
"""Counts of what was dropped have such rows under this key; unlike all others they are in the data set."""


def count_fault(fault: UnusableError, keep: bool, rows: int, drops: Drops) -> None:
    """Count the rows of a video without usable features: under KEPT where they stay, else under the fault's reason."""
    if keep:
        drops.drop(KEPT, f"{fault} ({fault.reason})", rows)
    else:
        drops.drop(fault.reason, str(fault), rows)
