"""`vtr evaluate --task captioning`: its flags; the evaluation itself is imported only when it runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from pipelines.arguments import parse, print_help, wants_help

PROG = "vtr evaluate --task captioning"


@dataclass(frozen=True)
class CaptioningFlags:
    """Flags of `vtr evaluate --task captioning`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: tuple[str, ...]
    """One or more data sets of whole videos; videos without captions are skipped."""
    tokenizer: Literal["words", "alphanumeric", "spaces", "treebank"] = "words"
    """Tokenizer of the metrics; treebank is the published one (needs Java)."""
    meteor: bool = True
    """Compute METEOR, where pycocoevalcap and Java are installed; --no-meteor: leave it out."""
    beams: int | None = None
    """Beam size; 1 is greedy decoding (default: as in training)."""
    length_penalty: float | None = None
    """Length penalty α: hypotheses are compared by log p / length^α (default: as in training)."""
    block_ngrams: int | None = None
    """Forbid repeated n-grams of this size within a caption (default: as in training)."""
    consensus_samples: int | None = None
    """Samples of captions, which choose the beam that is most like them (default: as in training; 0: none)."""
    average_checkpoints: int = 1
    """Average the weights of this many newest checkpoints of the run folder."""
    experiment: str = "vtr"
    """MLflow experiment."""
    out: str | None = None
    """Also write metrics and captions to this JSON file."""
    json: bool = False
    """Print metrics and captions as JSON, and everything else on standard error."""


def main(argv: Sequence[str]) -> None:
    """Parse the flags and evaluate, or print the help."""
    if not argv or wants_help(argv):
        print_help(PROG, CaptioningFlags)
        return
    flags = parse(CaptioningFlags, argv, PROG)
    from pipelines.systems.captioning.caption_metrics import evaluate

    evaluate(flags)
