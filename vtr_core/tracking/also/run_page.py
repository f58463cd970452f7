"""The description of a run that the other trackers are given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vtr_core.storage import Location


@dataclass(frozen=True)
class RunPage:
    """The description of a run that a tracker gets at its start."""

    folder: Location
    """The run's folder."""
    identity: str
    """The same for a resumed run, another for every other run."""
    name: str
    experiment: str
    group: str | None
    """The sweep that the run is a trial of."""
    note: str
    """A description in Markdown."""
    settings: Mapping[str, Any]
    """Flat names to values."""
