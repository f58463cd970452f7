"""The table of commands: the name of each, the module that runs it, and a line on what it does."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

_HEAD = """\
vtr: distributed training for video-text retrieval on Ray

usage: vtr <command> [flags]      vtr <command> --help

"""


@dataclass(frozen=True)
class Command:
    """A command of `vtr`."""

    name: str
    summary: str
    """What it does, in lines of the help."""

    def run(self, argv: Sequence[str]) -> None:
        """Run it with its flags. Its module, pipelines.<name>.command, is imported only now: help is instant."""
        import_module(f"pipelines.{self.name}.command").main(argv)


COMMANDS = (
    Command("extract", "video files and captions -> the same shards, by named recipes; --list tells of them"),
    Command("ingest", "raw features and annotations -> Parquet shards with a manifest"),
    Command(
        "concepts",
        "the concepts that captions name, with each video's soft labels, for models that have a concept space",
    ),
    Command("tagger", "train or measure the part-of-speech tagger that finds them"),
    Command("train", "a preset on a data set, on any number of Ray workers; --resume continues a run"),
    Command("sweep", "settings of a preset searched with many trainings at once; the best one is registered"),
    Command(
        "evaluate",
        "a checkpoint on data sets: --task retrieval, localization of the steps of a task, verification of faces,\n"
        "captioning",
    ),
    Command("caption", "what a trained captioner says of videos, as JSON lines and as a page of examples"),
    Command(
        "analyze",
        "which concepts decide a dual encoder's rankings, what its latent and concept space add to each other,\n"
        "and how much the captions of a corpus tell",
    ),
    Command(
        "explain",
        "a page on what each capsule of a checkpoint responds to, or on why videos were found: their tags; --serve",
    ),
    Command("index", "the vectors of a data set's videos, for search"),
    Command("search", "the best videos of an index for a query in words, or for a file of topics"),
    Command("verify", "whether two images show the same face, by a Siamese network"),
    Command("tables", "a paper's tables, its figures beside ours, trained and measured where the data is at hand"),
    Command("submit", "any of these commands as a job of a Ray cluster: vtr submit -- train <preset> --data URI"),
    Command("doctor", "what is installed and works on this machine, and what to do where it does not; --json"),
    Command("demo", "all of the above on a synthetic world, in minutes on a laptop"),
)


def help_text() -> str:
    """What `vtr --help` prints."""
    lines = [f"  {command.name:11}" + command.summary.replace("\n", "\n" + " " * 13) for command in COMMANDS]
    return _HEAD + "\n".join([*lines, ""])
