"""`vtr analyze complementarity CHECKPOINT… --data URI --out URI`: what two spaces of dual encoders add to each other.

Checkpoints whose configurations differ in the seed only are runs of one way of training. Give several seeds of each way
for means, standard deviations and tests, and several dimensions of one space for the dimension study.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from pipelines.arguments import parse, print_help, wants_help


@dataclass(frozen=True)
class ComplementarityFlags:
    """What to compare, on what."""

    checkpoints: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Checkpoint folders, run folders, whose best checkpoints are taken, or models:/NAME@ALIAS, registered ones."""
    data: str
    """Data set that all figures are of."""
    out: str
    """Folder for complementarity.json, report.html and figures/."""
    captions_per_video: int | None = None
    """Captions of each video that take part, drawn with the seed (default: all)."""
    ridge: float = 1e-3
    """Of the canonical correlations, as a share of the mean variance of a dimension."""
    samples: int = 20_000
    """Captions, or videos, that canonical correlations are fitted on, and as many that are held out, at most."""
    seed: int = 0
    """Of drawn captions, and of which videos are held out."""
    experiment: str = "vtr"
    """MLflow experiment."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr analyze complementarity", ComplementarityFlags)
        return
    flags = parse(ComplementarityFlags, argv, "vtr analyze complementarity")
    from vtr_core.systems.dual.analyze.complementarity.analyze import analyze

    analyze(flags)
