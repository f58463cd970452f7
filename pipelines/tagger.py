"""`vtr tagger evaluate`: accuracy of a part-of-speech tagger and lemmatiser on a treebank."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from pipelines.arguments import json_alone, parse, print_help, print_json, wants_help
from vtr_core.errors import ConfigError, nearest

if TYPE_CHECKING:
    from vtr_core.text.tagging.treebank import TreebankAccuracy

HELP = """\
usage: vtr tagger evaluate --treebank FOLDER [--tagger …] [flags]

  evaluate   accuracy of a tagger on a treebank, on its sentences and on their lower-cased, unpunctuated form
"""


@dataclass(frozen=True)
class EvaluateTaggerFlags:
    """Flags of `vtr tagger evaluate`."""

    treebank: str
    """Folder of a Universal Dependencies treebank: …-train.conllu, …-dev.conllu, …-test.conllu."""
    tagger: str = "default"
    """default, spacy:NAME or spacy:FOLDER, wordnet:FOLDER, treetagger:FOLDER."""
    part: Annotated[str, tyro.conf.arg(metavar="train|dev|test")] = "test"
    """The file of the treebank, …-test.conllu."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if list(argv[:1]) in ([], ["-h"], ["--help"]):
        print(HELP, end="")
        return
    if argv[0] != "evaluate":
        hint = nearest(
            argv[0], ("evaluate",), "give evaluate; spaCy trains pipelines, and --tagger spacy:FOLDER takes them"
        )
        raise ConfigError(f"vtr tagger: there is no {argv[0]!r}; {hint}")
    prog = "vtr tagger evaluate"
    if wants_help(argv[1:]):
        print_help(prog, EvaluateTaggerFlags)
        return
    flags = parse(EvaluateTaggerFlags, argv[1:], prog)
    with json_alone(flags.json):
        accuracy = evaluate(flags)
    if flags.json:
        print_json({"tagger": flags.tagger, **asdict(accuracy)})


def evaluate(flags: EvaluateTaggerFlags) -> "TreebankAccuracy":
    """Measure a tagger on one part of a treebank, and print the accuracies."""
    from vtr_core.text.tagging.tagger import choose_tagger
    from vtr_core.text.tagging.treebank import read_conllu, treebank_accuracy, treebank_file

    file = treebank_file(flags.treebank, flags.part)
    tagger = choose_tagger(flags.tagger)
    accuracy = treebank_accuracy(tagger, read_conllu(file))
    print(f"{tagger.name} on {file.name}")
    print("                            words    tags   parts  lemmas  concepts")
    for style, part in (("as they are", accuracy.sentences), ("as captions are written", accuracy.captions)):
        shares = "  ".join(f"{100 * share:6.2f}" for share in (part.tags, part.parts, part.lemmas, part.concepts))
        print(f"  {style:<24} {part.words:>6}  {shares}")
    return accuracy


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("tagger")
