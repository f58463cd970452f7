"""Flags of `vtr tables` for all papers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperTablesFlags:
    """Flags of `vtr tables`; settings of all runs are given as --a.b value."""

    only: tuple[int | str, ...] = ()
    """Numbers of the tables (default: all)."""
    preset: str = ""
    """Base preset, whose variants are the rows."""
    data: str | None = None
    """Training data set, or a folder with the splits train and val. Without it nothing is trained."""
    validation: str | None = None
    """Validation data set, which selects the best checkpoints (default: the split val beside train)."""
    test: tuple[str, ...] = ()
    """Test sets as name=URI; those of the paper fill its columns, others get additional columns."""
    seeds: int = 3
    """Number of training seeds per row."""
    max_concurrent: int = 1
    """Number of trainings at the same time, under Ray Tune, as far as the cluster has room; evaluation follows."""
    out: str = "runs/tables"
    """Folder of the runs and tables; finished runs are reused, interrupted ones resumed."""
    experiment: str = "vtr-tables"
    """MLflow experiment."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""
