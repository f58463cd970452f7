"""`vtr evaluate --task verification`: its flags; the evaluation itself is imported only when it runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from pipelines.arguments import parse, print_help, wants_help

PROG = "vtr evaluate --task verification"


@dataclass(frozen=True)
class VerificationFlags:
    """Flags of `vtr evaluate --task verification`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: tuple[str, ...]
    """One or more data sets of images with pair lists."""
    threshold: float | None = None
    """Distance above which two images count as different faces (default: the equal-error threshold of validation)."""
    allow_seen: bool = False
    """Allow subjects of the training data."""
    experiment: str = "vtr"
    """MLflow experiment."""
    out: str | None = None
    """Also write the metrics to this JSON file."""
    json: bool = False
    """Print the metrics as JSON, and everything else on standard error."""


def main(argv: Sequence[str]) -> None:
    """Parse the flags and evaluate, or print the help."""
    if not argv or wants_help(argv):
        print_help(PROG, VerificationFlags)
        return
    flags = parse(VerificationFlags, argv, PROG)
    from pipelines.systems.siamese.face_verification import evaluate

    evaluate(flags)
