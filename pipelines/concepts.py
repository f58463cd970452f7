"""`vtr concepts TRAIN [OTHER…]`: the concepts of a corpus, from the tagged captions of its data sets."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from pipelines.arguments import check_counts, json_alone, parse, print_help, print_json, wants_help
from vtr_core.config.data_sets import Ambiguity, LabelCount, StopWords
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.concepts.building import SetReport, TableSettings
    from vtr_core.data.concepts.concept_table import ConceptTable
    from vtr_core.text.concepts import ConceptSettings

FOLDER = "concepts"


@dataclass(frozen=True)
class ConceptFlags:
    """Flags of `vtr concepts`."""

    data: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Data sets: concepts are ranked over the training captions of all of them together, and counted in all. Training
    captions are those of the split train of a folder of splits, of a data set that is no split, and of the first."""
    labels: tuple[str, ...] = ()
    """Further data sets, such as the one to validate on, whose videos need labels but whose concepts are not ranked."""
    out: str | None = None
    """Output folder or URI of the concept table; an existing table is replaced (default: concepts in the first data set
    or folder, where vtr train finds it)."""
    tagger: str = "default"
    """default (included), spacy:NAME or spacy:FOLDER, wordnet:FOLDER, treetagger:FOLDER."""
    preset: str | None = None
    """Settings of concepts that this preset of vtr train asks for, such as hybrid-msrvtt-pos; the flags below give the
    others."""
    parts: str | None = None
    """Parts of speech of concepts: n noun, v verb, j adjective, a adverb, p preposition, c conjunction (default:
    n,v,j)."""
    pos: bool = False
    """Distinguish concepts by part of speech: measure/verb, measure/noun."""
    stop_words: StopWords | None = None
    """Stop words, which are no concepts: short (default; a short list of function words) or nltk (NLTK's list of 2021,
    without prepositions and conjunctions such as near and although)."""
    min_captions: int | None = None
    """Minimum number of a video's captions that mention a concept (default: for each data set, 2 where most of its
    videos have two captions or more, else 1)."""
    num_concepts: int | None = None
    """Fail if the captions offer fewer concepts than this."""
    count: LabelCount = "occurrences"
    """What a video's labels count: occurrences of a concept (thesis, published code), or captions that mention it."""
    ambiguous: Ambiguity = "caption"
    """What makes a caption ambiguous: a lemma of two parts of speech in it (thesis), or, corpus, a word that the
    captions of all data sets use as more than one."""
    ambiguous_share: float = 0.05
    """With --ambiguous corpus: share of a word's occurrences that a second part of speech needs; 0: any."""
    processes: int = 0
    """Processes for a spaCy tagger (0: one per core)."""
    top: int = 20
    """Number of concepts printed."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr concepts", ConceptFlags)
        return
    flags = parse(ConceptFlags, argv, "vtr concepts")
    with json_alone(flags.json):
        result = concepts(flags)
    if flags.json:
        table, reports = result
        print_json(
            {
                "uri": table.uri,
                "fingerprint": table.fingerprint,
                "tagger": table.head.tagger,
                "concepts": len(table.names),
                "top": list(zip(table.names, table.head.frequency, strict=True))[: flags.top],
                "datasets": [asdict(report) for report in reports],
            }
        )


def concepts(flags: ConceptFlags) -> "tuple[ConceptTable, tuple[SetReport, ...]]":
    """Tag the captions, count concepts, write the table, and report on it and on the captions of each data set."""
    from vtr_core.data.concepts.building import build_concept_table
    from vtr_core.data.manifest import Manifest
    from vtr_core.data.shards.shard_file import check_files
    from vtr_core.limits import num_usable
    from vtr_core.storage import check_readable, check_writable, locate
    from vtr_core.text.tagging.tagger import choose_tagger

    settings = _settings(flags)
    tagger = choose_tagger(flags.tagger, flags.processes or num_usable())
    for uri in (*flags.data, *flags.labels):
        check_readable(locate(uri))
    out = flags.out or (locate(flags.data[0]) / FOLDER).uri
    check_writable(locate(out))
    is_ranked = _sets(flags)
    manifests = [Manifest.load(uri) for uri in is_ranked]
    training = [number for number, ranked in enumerate(is_ranked.values()) if ranked]
    for manifest in manifests:
        check_files(manifest)
    table, reports = build_concept_table(
        manifests, tagger, settings, out, flags.num_concepts, partial(print, flush=True), training
    )
    _print(table, reports, flags.top)
    return table, reports


def _settings(flags: ConceptFlags) -> "TableSettings":
    from vtr_core.data.concepts.building import TableSettings

    if not flags.data:
        raise ConfigError("vtr concepts needs a data set")
    check_counts("vtr concepts", min_captions=flags.min_captions, num_concepts=flags.num_concepts)
    if not 0 <= flags.ambiguous_share <= 0.5:
        raise ConfigError(f"--ambiguous-share is {flags.ambiguous_share:g}; it must be from 0 to 0.5")
    if flags.processes < 0:
        raise ConfigError(f"--processes is {flags.processes}; give a number of processes, or 0 for one per core")
    return TableSettings(_concept_settings(flags), flags.min_captions, flags.ambiguous, flags.ambiguous_share)


def _concept_settings(flags: ConceptFlags) -> "ConceptSettings":
    """The settings of flags and preset; ConfigError where they contradict each other."""
    from vtr_core.run.presets import preset
    from vtr_core.text.concepts import ConceptSettings
    from vtr_core.text.tagging.tagger import parse_parts

    settings: dict[str, Any] = {"parts": flags.parts, "pos": flags.pos or None, "stop_words": flags.stop_words}
    for name, value in ({} if flags.preset is None else preset(flags.preset).concepts.asked).items():
        if settings[name] not in (None, value):
            raise ConfigError(
                f"--preset {flags.preset} asks for {name} = {value}, not {settings[name]}; leave out that flag"
            )
        settings[name] = value
    return ConceptSettings(
        parse_parts(settings["parts"] or "n,v,j"), bool(settings["pos"]), settings["stop_words"] or "short", flags.count
    )


def _sets(flags: ConceptFlags) -> dict[str, bool]:
    """The data sets, each split on its own, train first, and whether their concepts are ranked."""
    from vtr_core.data.manifest import splits
    from vtr_core.storage import locate

    is_ranked: dict[str, bool] = {}
    for number, uri in enumerate((*flags.data, *flags.labels)):
        inner, ranked = splits(uri), number < len(flags.data)
        if "train" in inner:
            order = sorted(inner, key=lambda name: name != "train")
            is_ranked.update({inner[name]: ranked and name == "train" for name in order})
            continue
        beside = splits(locate(uri).parent.uri)
        is_other_split = any(name != "train" and locate(split) == locate(uri) for name, split in beside.items())
        is_ranked[uri] = number == 0 or (ranked and not is_other_split)
    return is_ranked


def _print(table: "ConceptTable", reports: "Sequence[SetReport]", top: int) -> None:
    from vtr_core.fingerprint import short

    for report in reports:
        print(
            f"{report.uri}: {report.videos} videos, {report.captions} captions, {100 * report.overlap:.2f} % repeat "
            f"another video's; {report.ambiguous} hold an ambiguous word"
            + (f"; {report.without_words} hold no word" if report.without_words else "")
        )
    frequent = zip(table.names[:top], table.head.frequency, strict=False)
    print(f"top         {', '.join(f'{name} {count}' for name, count in frequent)}")
    print(f"{table.uri}: {len(table.names)} concepts by {table.head.tagger}; fingerprint {short(table.fingerprint)}")


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("concepts")
