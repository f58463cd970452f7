"""Flags of `vtr demo`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DemoFlags:
    """Flags of `vtr demo`."""

    videos: bool = False
    """Start from video files: render films of coloured shapes, extract features, train, and search them."""
    films: int = 560
    """With --videos: number of films, of which the last 100 are the test set."""
    clips: int = 12_000
    """Without --videos: approximate number of synthetic clips."""
    seed: int = 0
    """Random seed of the data and of training."""
    workers: int = 2
    """Number of training workers; 0 trains in the process of the command."""
    data: str | None = None
    """Data set folder (default: data/scenes-<clips>-<seed>, with --videos data/films-<films>-<seed>); an existing
    data set is reused."""
    out: str | None = None
    """Run folder (default: runs/demo-<time>)."""
