"""Flags of `vtr embed`."""

from dataclasses import dataclass
from typing import Annotated

import tyro


@dataclass(frozen=True)
class EmbedFlags:
    """Flags of `vtr embed`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: str
    """Data set that the model reads."""
    out: str
    """Output folder or URI; the same command again resumes an interrupted one."""
    write: str = "vectors"
    """vectors, for evaluation and search; captions of a captioner, concepts of a dual encoder, activations of a capsule
    network: one row for each video, or for each clip and caption."""
    top: int | None = None
    """concepts: the most probable concepts of each video, with their probabilities (default: 10)."""
    beams: int | None = None
    """captions: beam size; 1 is greedy decoding (default: as in training)."""
    length_penalty: float | None = None
    """captions: length penalty α: hypotheses are compared by log p / length^α (default: as in training)."""
    block_ngrams: int | None = None
    """captions: forbid repeated n-grams of this size within a caption (default: as in training)."""
    consensus_samples: int | None = None
    """captions: samples, which choose the beam that is most like them (default: as in training; 0: none)."""
    workers: int | None = None
    """0: in this process, without Ray. Otherwise a Ray Data job of at most so many copies of the model (default: as
    many as the cluster has room for)."""
    gpus_per_model: float = 1.0
    """GPUs per copy of the model, where the cluster has any; 0 computes on CPUs."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""
