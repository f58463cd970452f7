"""`vtr analyze causality CHECKPOINT --data VAL --test TEST --out URI`: its flags."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from pipelines.arguments import parse, print_help, wants_help, written_as_json


@dataclass(frozen=True)
class CausalityFlags:
    """Flags of `vtr analyze causality`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: str
    """Validation data set, on which the transform is searched."""
    test: str
    """Test data set of all reported figures; no choice depends on it."""
    out: str
    """Output folder of transform.json, causality.json and figures/."""
    train: str | None = None
    """Training data set, to find concept detectors that fail on training data as well."""
    concepts: str | None = None
    """Concept table with the labels of these data sets (default: the folder concepts in or beside --train, else
    --data)."""
    search: Literal["coordinate", "thesis"] = "coordinate"
    """coordinate: accuracy first, then causality, over all three parameters. thesis: the thesis's search (5.4.1), scale
    or power with the shift on the grids of its Table 5.2, keeping the trained value where the curve is flat; and
    enough, of all three parameters the most accurate with a C@10 of 72 %.
    """
    c10: float | None = None
    """C@10 in percent to reach, such as 72: of the transforms that have it on the validation data the most accurate
    one, never less accurate than the model as trained (default: the most causal of those that are about as accurate as
    the best one found). For --search coordinate.
    """
    captions_per_video: int | None = None
    """Number of random captions per validation video that the search uses (default: all)."""
    scales: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    """Values of the scale a whose curves are drawn (Figures 5.4 and 5.6); 1 is the model as trained."""
    top_k: tuple[int, ...] = (1, 2, 4, 8, 10, 16, 30, 64, 128, 256)
    """Values of k for the curve of mAP over the top k concepts of each pair."""
    top_k_captions: int = 1000
    """Number of test captions for that curve, which sorts the concepts of every pair; the thesis has all of them."""
    seed: int = 0
    """Random seed of sampled pairs and captions."""
    experiment: str = "vtr"
    """MLflow experiment."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr analyze causality", CausalityFlags)
        return
    flags = parse(CausalityFlags, argv, "vtr analyze causality")
    from pipelines.systems.dual.causality_analysis import analyze

    with written_as_json(flags.json, flags.out, "causality.json", "causality.json"):
        analyze(flags)
