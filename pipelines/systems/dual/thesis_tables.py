"""`vtr tables thesis`: its flags."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.tables.command import PaperTablesFlags, run_paper


@dataclass(frozen=True)
class TablesFlags(PaperTablesFlags):
    """Flags of `vtr tables thesis`; settings of all runs are given as --a.b value."""

    preset: str = "hybrid-msrvtt"
    """Base preset, whose variants are the rows; a small one makes small tables."""
    data: str | None = None
    """Folder with the splits train, val and test, and their concept table, concepts. Without it nothing is trained.
    "A + B" trains on both, for Table 3.4: "data/msrvtt + data/tgif"."""
    validation: str | None = None
    """Validation data set, which selects the best checkpoints, such as TV2016TRAIN (default: the split val)."""
    concepts: str | None = None
    """Concept table of the training data (default: concepts in or beside the first data set)."""
    tagged: tuple[str, ...] = ()
    """Such folders with part-of-speech tags in words and concepts: treetagger=FOLDER, wordnet=FOLDER, spacy=FOLDER.
    Their concept tables also name the ambiguous captions of Table 3.3, on which the rows without tags are measured."""
    size: tuple[str, ...] = ()
    """Data sets, or folders of splits, for Table 3.1: tgif=URI, tv2016train=URI, iacc3=URI, v3c1=URI."""
    topics: tuple[str, ...] = ()
    """Files of topics for Table 3.1, several of a collection joined by commas: iacc3=FILE,FILE, v3c1=FILE."""
    avs: tuple[str, ...] = ()
    """Years of TRECVID's ad-hoc search for Table 3.4: 2016=COLLECTION,TOPICS,JUDGEMENTS, a data set and two files."""
    rows: tuple[str, ...] = ()
    """Train only the rows of these variants, such as base (the hybrid), concept or concept-pos-spacy (default: all of
    the tables)."""
    out: str = "runs/tables-thesis"
    """Folder of the runs and tables; finished runs are reused, interrupted ones resumed."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    run_paper(argv, "thesis", TablesFlags, "pipelines.systems.dual.thesis_rows")
