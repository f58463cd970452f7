"""The table of commands: name, module and summary of each."""

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
    """Lines of the help."""

    def run(self, argv: Sequence[str]) -> None:
        """Run the command. Its module, pipelines.<name>.command, is imported only here, so that help is instant."""
        import_module(f"pipelines.{self.name}.command").main(argv)


COMMANDS = (
    Command("extract", "features of video files by named backbones, as Parquet shards; --list describes the recipes"),
    Command("ingest", "precomputed features and annotations, as Parquet shards with a manifest"),
    Command("concepts", "concept vocabulary of captions and soft labels of videos, for models with a concept space"),
    Command("tagger", "train or evaluate a part-of-speech tagger for vtr concepts"),
    Command("train", "train a preset on a data set with any number of Ray workers; --resume continues a run"),
    Command("sweep", "hyperparameter search with Ray Tune; the best checkpoint is registered"),
    Command(
        "evaluate", "metrics of a checkpoint on data sets: --task retrieval, localization, verification, captioning"
    ),
    Command("caption", "generate captions for the videos of a data set: JSON lines, and a page of examples"),
    Command(
        "analyze",
        "a dual encoder's concepts (causality) and spaces (complementarity); the information content of captions",
    ),
    Command(
        "explain",
        "a page of the concepts that each capsule responds to, or of those that rank a query's videos; --serve",
    ),
    Command("embed", "embeddings of a data set as Parquet shards, for evaluation and index; a Ray Data job, resumable"),
    Command("index", "embeddings of a data set's videos, for search"),
    Command("search", "rank the videos of an index for a text query, or for a file of topics"),
    Command("serve", "search of an index in the browser and over HTTP, on one machine or on Ray Serve"),
    Command("export", "a trained model for others: safetensors, configuration, model card; to a folder or the hub"),
    Command("import", "published checkpoints of others, by the names of their weights, as checkpoints of vtr"),
    Command("verify", "decide whether two images show the same face, with a Siamese network"),
    Command("tables", "reproduce a paper's tables: published metrics beside ours"),
    Command("submit", "run any of these commands as a job on a Ray cluster: vtr submit -- train <preset> --data URI"),
    Command("doctor", "check packages, hardware and services on this machine, with remedies; --json"),
    Command("demo", "the whole pipeline on synthetic data, in minutes on a laptop"),
)


def help_text() -> str:
    """The text of `vtr --help`."""
    lines = [f"  {command.name:11}" + command.summary.replace("\n", "\n" + " " * 13) for command in COMMANDS]
    return _HEAD + "\n".join([*lines, ""])
