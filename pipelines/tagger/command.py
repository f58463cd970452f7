"""`vtr tagger train|evaluate`: train or evaluate a small part-of-speech tagger and lemmatiser on a treebank."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from pipelines.arguments import json_alone, parse, parse_both, print_help, print_json, wants_help
from vtr_core.errors import ConfigError, RunConflict, nearest
from vtr_core.text.tagging.treebank import TaggerSettings

if TYPE_CHECKING:
    from vtr_core.text.tagging.tagger_training import TaggerAccuracy, TaggerEpoch, TreebankAccuracy
    from vtr_core.text.tagging.treebank import Treebank

HELP = """\
usage: vtr tagger train --treebank FOLDER --out FOLDER [flags]
       vtr tagger evaluate --treebank FOLDER [--tagger …] [flags]

  train      train a spaCy pipeline of universal tags and lemmas on a CoNLL-U treebank, minutes on one core
  evaluate   accuracy of a tagger on a treebank, on its sentences and on their lower-cased, unpunctuated form
"""


@dataclass(frozen=True)
class TrainTaggerFlags:
    """Flags of `vtr tagger train`."""

    treebank: str
    """Folder of a Universal Dependencies treebank: …-train.conllu, …-dev.conllu, …-test.conllu."""
    out: str
    """Folder for the pipeline, on this machine."""
    name: str = "captions"
    """Name of the pipeline."""
    version: str = "1.0.0"
    """Version of the pipeline."""
    licence: str | None = None
    """Licence of the treebank (known for English EWT)."""
    attribution: str | None = None
    """Attribution of the treebank (known for English EWT)."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


@dataclass(frozen=True)
class EvaluateTaggerFlags:
    """Flags of `vtr tagger evaluate`."""

    treebank: str
    """Folder of a Universal Dependencies treebank."""
    tagger: str = "default"
    """default, spacy:NAME or spacy:FOLDER, wordnet:FOLDER, treetagger:FOLDER, nltk or nltk:FOLDER."""
    part: Annotated[str, tyro.conf.arg(metavar="train|dev|test")] = "test"
    """The file of the treebank, …-test.conllu."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    match list(argv[:1]):
        case [] | ["-h"] | ["--help"]:
            print(HELP, end="")
        case ["train"]:
            _train(argv[1:])
        case ["evaluate"]:
            _evaluate(argv[1:])
        case _:
            hint = nearest(argv[0], ("train", "evaluate"), "give train or evaluate")
            raise ConfigError(f"vtr tagger: there is no {argv[0]!r}; {hint}")


def _train(argv: Sequence[str]) -> None:
    prog = "vtr tagger train"
    if wants_help(argv):
        print_help(prog, TrainTaggerFlags, TaggerSettings)
        return
    flags, settings = parse_both(TrainTaggerFlags, TaggerSettings, argv, prog)
    with json_alone(flags.json):
        found = train(flags, settings)
    if flags.json:
        print_json({"folder": flags.out, **asdict(found)})


def train(flags: TrainTaggerFlags, settings: TaggerSettings) -> "TreebankAccuracy":
    """Train, measure on the test part, and write the pipeline with its accuracy, licence and attribution."""
    from pathlib import Path

    from vtr_core.storage import check_writable, locate
    from vtr_core.text.tagging.lemmatiser import Lemmatiser
    from vtr_core.text.tagging.spacy_tagger import SpacyTagger
    from vtr_core.text.tagging.tagger_training import save_pipeline, train_tagger, treebank_accuracy
    from vtr_core.text.tagging.treebank import known_treebank, read_conllu, treebank_file

    folder = Path(flags.out).expanduser()
    check_writable(locate(folder))
    if folder.exists() and any(folder.iterdir()):
        raise RunConflict(f"{folder} is not empty; give another --out")
    files = [treebank_file(flags.treebank, part) for part in ("train", "dev", "test")]
    treebank = known_treebank(files[0], flags.licence, flags.attribution)
    train_part, dev, test = (read_conllu(file) for file in files)
    print(f"{treebank.name}: {len(train_part)} sentences to train on, {len(dev)} to choose the best epoch", flush=True)
    language = train_tagger(train_part, dev, settings, _print_epoch)
    lemmatiser = Lemmatiser.from_treebank(train_part)
    size = save_pipeline(language, lemmatiser, settings, _meta(flags, settings, treebank), folder)
    found = treebank_accuracy(SpacyTagger(str(folder)), test)
    _add_accuracy(folder / "meta.json", found)
    _print(found, f"{folder} ({size / 2**20:.1f} MiB) on {files[2].name}")
    return found


def _evaluate(argv: Sequence[str]) -> None:
    prog = "vtr tagger evaluate"
    if wants_help(argv):
        print_help(prog, EvaluateTaggerFlags)
        return
    flags = parse(EvaluateTaggerFlags, argv, prog)
    with json_alone(flags.json):
        found = evaluate(flags)
    if flags.json:
        print_json({"tagger": flags.tagger, **asdict(found)})


def evaluate(flags: EvaluateTaggerFlags) -> "TreebankAccuracy":
    """Measure a tagger on one part of a treebank."""
    from vtr_core.text.tagging.tagger import choose_tagger
    from vtr_core.text.tagging.tagger_training import treebank_accuracy
    from vtr_core.text.tagging.treebank import read_conllu, treebank_file

    file = treebank_file(flags.treebank, flags.part)
    tagger = choose_tagger(flags.tagger)
    found = treebank_accuracy(tagger, read_conllu(file))
    _print(found, f"{tagger.name} on {file.name}")
    return found


def _print_epoch(epoch: "TaggerEpoch") -> None:
    print(
        f"  epoch {epoch.epoch:2d}  loss {epoch.loss:9.0f}  dev: tags {100 * epoch.tags:.2f} %",
        flush=True,
    )


def _print(found: "TreebankAccuracy", what: str) -> None:
    print(what)
    print("                       words    tags   parts  lemmas  concepts")
    for name, part in (("as they are", found.sentences), ("as captions are written", found.captions)):
        shares = "  ".join(f"{100 * share:6.2f}" for share in (part.tags, part.parts, part.lemmas, part.concepts))
        print(f"  {name:<24}{part.words:>7}  {shares}".replace("                  ", "          ", 1))


def _meta(flags: TrainTaggerFlags, settings: TaggerSettings, treebank: "Treebank") -> dict[str, Any]:
    """The content of the pipeline's meta.json."""
    return {
        "name": flags.name,
        "version": flags.version,
        "description": "Universal part-of-speech tags and lemmas of English captions; a small tagger and lemmatiser.",
        "license": treebank.licence,
        "author": "vtr",
        "url": "",
        "sources": [
            {
                "name": treebank.name,
                "url": treebank.url,
                "license": treebank.licence,
                "author": treebank.attribution,
            }
        ],
        "training": settings.model_dump(mode="json"),
    }


def _add_accuracy(meta: Any, found: "TreebankAccuracy") -> None:
    import json

    value = json.loads(meta.read_text(encoding="utf-8"))
    value["performance"] = {name: _rounded(part) for name, part in asdict(found).items()}
    meta.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _rounded(part: "TaggerAccuracy | dict[str, float]") -> dict[str, float]:
    assert isinstance(part, dict)
    return {name: value if name == "words" else round(value, 4) for name, value in part.items()}
