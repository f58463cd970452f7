"""`vtr analyze complementarity CHECKPOINT… --data URI --out URI`: its flags."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from pipelines.arguments import parse, print_help, wants_help, written_as_json


@dataclass(frozen=True)
class ComplementarityFlags:
    """Flags of `vtr analyze complementarity`."""

    checkpoints: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Checkpoint folders, run folders (their best checkpoints are used), or registered models, models:/NAME@ALIAS."""
    data: str
    """Data set to evaluate on."""
    out: str
    """Output folder of complementarity.json and figures/."""
    captions_per_video: int | None = None
    """Number of random captions per video that are used (default: all)."""
    ridge: float = 1e-3
    """Ridge regularisation of the canonical correlations, as a share of the mean variance of a dimension."""
    samples: int = 20_000
    """Maximum number of captions, or videos, that canonical correlations are fitted on; as many are held out."""
    pairs: int = 256
    """Number of canonical pairs, the most correlated first, as in the thesis's Figure 4.5; of two spaces of 512
    dimensions 512 are all. Fewer than that many samples give fewer."""
    components: int = 4096
    """Maximum number of principal components of a latent space, the first ones (Figure 4.4); 0: none. All of 65,536
    dimensions would take 34 GB and hours."""
    seed: int = 0
    """Random seed of sampled captions and of held-out videos."""
    experiment: str = "vtr"
    """MLflow experiment."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr analyze complementarity", ComplementarityFlags)
        return
    flags = parse(ComplementarityFlags, argv, "vtr analyze complementarity")
    from pipelines.systems.dual.complementarity_analysis import analyze

    with written_as_json(flags.json, flags.out, "complementarity.json", "complementarity.json"):
        analyze(flags)
