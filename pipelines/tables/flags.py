"""What `vtr tables` is told for every paper."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperTablesFlags:
    """Which tables, from which data; settings of all runs are given as --a.b value."""

    only: tuple[int | str, ...] = ()
    """Numbers of the tables (default: all)."""
    preset: str = ""
    """The base whose variants are the rows; a small one makes small tables."""
    data: str | None = None
    """Training data, or a folder with the splits train and val. Without it nothing is trained."""
    validation: str | None = None
    """Data set that chooses the best checkpoints (default: the split val beside train)."""
    test: tuple[str, ...] = ()
    """Test sets as name=URI; the paper's own fill its columns, other names have their own."""
    seeds: int = 3
    """Trainings of every row."""
    out: str = "runs/tables"
    """Folder for runs and tables; finished runs in it are taken as they are, interrupted ones go on."""
    experiment: str = "vtr-tables"
    """MLflow experiment."""
