"""`vtr verify CHECKPOINT a.pgm b.pgm`: whether two images show the same face."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import tyro

from pipelines.arguments import parse, print_help, print_json, wants_help
from pipelines.systems.registry import SYSTEMS

PROG = "vtr verify"


@dataclass(frozen=True)
class VerifyFlags:
    """Flags of `vtr verify`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    first: Annotated[str, tyro.conf.Positional]
    """First image: PGM, PNG or JPEG."""
    second: Annotated[str, tyro.conf.Positional]
    """Second image."""
    threshold: float | None = None
    """Distance above which the images count as different faces (default: the equal-error threshold of validation)."""
    resize: bool = False
    """Resize images to the size that the model was trained on, without keeping the aspect ratio."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class Verified:
    """The decision on two images."""

    same: bool
    distance: float
    threshold: float


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help(PROG, VerifyFlags)
        return
    flags = parse(VerifyFlags, argv, PROG)
    result = verify(flags)
    if flags.json:
        print_json(asdict(result))
        return
    print(f"{'same' if result.same else 'different'}  distance {result.distance:.4f}  threshold {result.threshold:.4f}")


def verify(flags: VerifyFlags) -> Verified:
    """The distance of two images, and whether it is at most the threshold."""
    from pipelines.evaluate.evaluation_flags import device
    from vtr_core.systems.loaded_model import lacking
    from vtr_core.train.checkpoint.trained_model import read_model

    loaded = read_model(flags.checkpoint, SYSTEMS, device())
    decide = loaded.config.model.system().implementation().decide
    if decide is None:
        raise lacking(loaded, PROG, lambda system: system.implementation().decide is not None)
    decision = decide(loaded, flags.first, flags.second, flags.threshold, flags.resize)
    return Verified(decision.distance <= decision.threshold, decision.distance, decision.threshold)


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("verify")
