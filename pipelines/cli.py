"""`vtr`: the first word names the stage, which is imported only then, so that help is instant."""

import sys
from collections.abc import Sequence

from vtr_core.errors import ConfigError, VtrError

HELP = """\
vtr: distributed training for video-text retrieval on Ray

usage: vtr <command> [flags]      vtr <command> --help

  ingest     raw features and annotations -> Parquet shards with a manifest
  concepts   the concepts that captions name, with each video's soft labels, for models that have a concept space
  tagger     train or measure the part-of-speech tagger that finds them
  train      a preset on a data set, on any number of Ray workers; --resume continues a run
  sweep      settings of a preset searched with many trainings at once; the best one is registered
  evaluate   a checkpoint on data sets: --task retrieval, localization of the steps of a task, verification of faces,
             captioning
  caption    what a trained captioner says of videos, as JSON lines and as a page of examples
  analyze    which concepts decide a dual encoder's rankings, what its latent and concept space add to each other,
             and how much the captions of a corpus tell
  explain    a page on what each capsule of a checkpoint responds to, or on why videos were found: their tags; --serve
  index      the vectors of a data set's videos, for search
  search     the best videos of an index for a query in words, or for a file of topics
  verify     whether two images show the same face, by a Siamese network
  tables     a paper's tables, its figures beside ours, trained and measured where the data is at hand
  submit     any of these commands as a job of a Ray cluster: vtr submit -- train <preset> --data URI
  doctor     what is installed and works on this machine, and what to do where it does not; --json
  demo       all of the above on a synthetic world, in minutes on a laptop
"""


def run(command: str, argv: Sequence[str]) -> None:
    """Run one stage with its flags."""
    match command:
        case "ingest":
            from pipelines import ingest

            ingest.main(argv)
        case "concepts":
            from pipelines import concepts

            concepts.main(argv)
        case "tagger":
            from pipelines import tagger

            tagger.main(argv)
        case "train":
            from pipelines import train

            train.main(argv)
        case "sweep":
            from pipelines import sweep

            sweep.main(argv)
        case "evaluate":
            from pipelines import evaluate

            evaluate.main(argv)
        case "caption":
            from pipelines import caption

            caption.main(argv)
        case "analyze":
            from pipelines import analyze

            analyze.main(argv)
        case "explain":
            from pipelines import explain

            explain.main(argv)
        case "index":
            from pipelines import index

            index.main(argv)
        case "search":
            from pipelines import search

            search.main(argv)
        case "verify":
            from pipelines import verify

            verify.main(argv)
        case "tables":
            from pipelines import tables

            tables.main(argv)
        case "submit":
            from pipelines import submit

            submit.main(argv)
        case "doctor":
            from pipelines import doctor

            doctor.main(argv)
        case "demo":
            from pipelines import demo

            demo.main(argv)
        case _:
            raise ConfigError(f"there is no command {command!r}; vtr --help lists them")


def main(*first: str) -> None:
    """The console script: exit code 0, or 2 with one line on what is wrong, or 130 when interrupted.

    first: words before those of the command line; `python -m pipelines.train` is `vtr train`.
    """
    words = [*first, *sys.argv[1:]]
    if not words or words[0] in ("-h", "--help"):
        print(HELP, end="")
        return
    try:
        run(words[0], words[1:])
    except VtrError as error:
        print(f"vtr {words[0]}: {type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        print(f"vtr {words[0]}: interrupted", file=sys.stderr)
        sys.exit(getattr(stop, "exit_code", 130))


if __name__ == "__main__":
    main()
