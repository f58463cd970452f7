"""`vtr tables thesis`: the thesis's tables, published metrics beside ours, measured where data is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pipelines.arguments import check_counts
from pipelines.tables.command import PaperTablesFlags, run_paper
from pipelines.tables.paper import load_paper
from vtr_core.config.override import override
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from pipelines.systems.dual.thesis_measurements import AvsYear, Sets
    from pipelines.tables.runs import Sweep, TestSet
    from vtr_core.run.config import TrainConfig


PAPER = load_paper("thesis")
SET = "msrvtt"
TAGGERS: Mapping[str, str] = MappingProxyType(
    {
        "treetagger": "--tagger treetagger:FOLDER",
        "wordnet": "--tagger wordnet:FOLDER",
        "spacy": "--tagger default, or spacy:NAME",
    }
)
"""Names of the thesis's taggers, and their flags for `vtr ingest` and `vtr concepts`."""
SINGLE, FUSED = "equal-latent", "equal-latent-fused"
"""A latent space alone, and two trainings of it whose scores are added."""


@dataclass(frozen=True)
class Training:
    """One way of training: a variant of the base, and the tagger of its data."""

    variant: str
    tagger: str | None = None

    def config(self, base: str, changes: Mapping[str, Any]) -> "TrainConfig":
        """The complete configuration, with `changes` applied to all runs."""
        from vtr_core.run.presets import preset

        return override(preset(f"{base}-{self.variant}" if self.variant else base), changes)


def _tagged(prefix: str, variant: str) -> dict[str, Training]:
    return {f"{prefix}pos-{tagger}": Training(variant, tagger=tagger) for tagger in TAGGERS}


TRAININGS: Mapping[str, Training] = MappingProxyType(
    {
        "": Training(""),
        **_tagged("", "pos"),
        "concept": Training("concept"),
        **_tagged("concept-", "concept-pos"),
        "interpretable": Training("interpretable"),
        "concept-256": Training("concept-256"),
        "causal": Training("causal"),
        "cosine": Training("cosine"),
        "cosine-256": Training("cosine-256"),
        "latent": Training("latent"),
        "latent-alone": Training("latent-alone"),
        "equal": Training("equal"),
        "equal-latent": Training("equal-latent"),
        "equal-homogeneous": Training("equal-homogeneous"),
        "equal-heterogeneous": Training("equal-heterogeneous"),
    }
)
"""Trainings by the name of a row's variant."""

BASE = "base"
"""The name of the base preset's own row in --rows, as of its folder."""


@dataclass(frozen=True)
class TablesFlags(PaperTablesFlags):
    """Flags of `vtr tables thesis`; settings of all runs are given as --a.b value."""

    preset: str = "hybrid-msrvtt"
    """Base preset, whose variants are the rows; a small one makes small tables."""
    data: str | None = None
    """Folder with the splits train, val and test, and their concept table, concepts. Without it nothing is trained."""
    tagged: tuple[str, ...] = ()
    """Such folders with part-of-speech tags in words and concepts: treetagger=FOLDER, wordnet=FOLDER, spacy=FOLDER."""
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
    run_paper(argv, "thesis", TablesFlags, tables)


def tables(flags: TablesFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, writes `tables.md` and `tables.json` into the folder, and returns the page."""
    from pipelines.systems.dual.thesis_measurements import num_topics
    from pipelines.tables.runs import TestSet, chosen_tables, read_results, variants_of, write_page

    check_counts("vtr tables thesis", seeds=flags.seeds, max_concurrent=flags.max_concurrent)
    chosen = chosen_tables(PAPER, flags)
    rows = [row[5:] for row in _size_rows()]
    folders, sizes, topics = _folders(flags), _named(flags.size, "--size", rows), _named(flags.topics, "--topics", rows)
    years = _years(flags)
    if flags.test or flags.validation:
        raise ConfigError(
            "vtr tables thesis takes val and test of the folders of --data; leave out --test, --validation"
        )
    variants = [variant for variant in variants_of(chosen) if not variant.startswith("data-")]
    wanted = ["" if name == BASE else name for name in flags.rows] or variants
    unknown = [name for name in wanted if name not in variants]
    if unknown:
        raise ConfigError(
            f"--rows {' '.join(unknown)}: the tables' rows are {', '.join(name or BASE for name in variants)}"
        )
    test = [TestSet(SET, "the split test", "thesis"), *_avs_set(flags)]
    not_run = _run(flags, changes, wanted, folders)
    found = read_results(flags.out, variants, test, flags.seeds)
    figures = {**found.figures, **_sizes({**sizes, **({"msrvtt": flags.data} if flags.data else {})})}
    for variant, counted in num_topics(topics).items():
        figures[variant] = {**figures.get(variant, {}), **counted}
    missing = {} if years else PAPER.missing
    results = replace(found, figures=figures, missing=missing, not_run=_without_figures(figures, not_run))
    return write_page(PAPER, flags, changes, chosen, results, test)


def _run(
    flags: TablesFlags, changes: Mapping[str, Any], wanted: Sequence[str], folders: Mapping[str, str]
) -> dict[str, str]:
    """Trains and evaluates the rows whose data is given; for the others returns the reason, by variant."""
    not_run: dict[str, str] = {}
    by_folder: dict[str, dict[str, TrainConfig]] = {}
    for variant in wanted:
        source = SINGLE if variant == FUSED else variant
        tagger = TRAININGS[source].tagger or ""
        if tagger not in folders:
            not_run[variant] = _how_to(tagger, flags.preset)
        else:
            configs = by_folder.setdefault(folders[tagger], {})
            configs[source] = TRAININGS[source].config(flags.preset, changes)
    for folder, configs in by_folder.items():
        _sweep(flags, folder).run_all(configs)
    if FUSED in wanted and FUSED not in not_run:
        _fuse(flags, folders[TRAININGS[SINGLE].tagger or ""])
    return not_run


def _sweep(flags: TablesFlags, folder: str) -> "Sweep":
    from pipelines.tables.runs import Sweep, TestSet

    sets = _sets(folder)

    def measured(checkpoint: str, one: "TestSet", place: str, seed: int) -> dict[str, Any]:  # noqa: ARG001
        from pipelines.systems.dual.thesis_measurements import NAME, avs_figures, flat, measure

        if one.name == NAME:
            return {"uri": one.uri, "figures": avs_figures(checkpoint, _years(flags)), "chance": {}}
        found = measure(checkpoint, sets, detectors="/concept/" in place)
        return {"uri": sets.test, "figures": flat(found, one.name), "chance": {}}

    test = [TestSet(SET, sets.test, "thesis"), *_avs_set(flags)]
    return Sweep(
        flags.out, folder, None, test, flags.seeds, flags.experiment, measured, max_concurrent=flags.max_concurrent
    )


def _years(flags: TablesFlags) -> "list[AvsYear]":
    from pipelines.systems.dual.thesis_measurements import parse_year

    years = [parse_year(word) for word in flags.avs]
    if len({one.year for one in years}) < len(years):
        raise ConfigError(f"--avs {' '.join(flags.avs)}: a year is given twice")
    return years


def _avs_set(flags: TablesFlags) -> "list[TestSet]":
    """The years of ad-hoc search as one test set, if there are any."""
    from pipelines.tables.runs import TestSet

    return [TestSet("avs", " ".join(flags.avs), "thesis")] if flags.avs else []


def _fuse(flags: TablesFlags, folder: str) -> None:
    """Adds the scores of trainings 0 and 1, 2 and 3, … of the small latent space."""
    from pipelines.systems.dual.thesis_measurements import flat, fused
    from pipelines.tables.runs import TestSet, figures_file, run_folder
    from vtr_core import storage
    from vtr_core.storage import locate
    from vtr_core.train.checkpoint.checkpoint_files import find_checkpoint

    test = TestSet(SET, _sets(folder).test, "thesis")
    for pair in range(flags.seeds // 2):
        place = locate(figures_file(run_folder(flags.out, FUSED, pair), test))
        if not storage.exists(place):
            runs = [run_folder(flags.out, SINGLE, seed) for seed in (2 * pair, 2 * pair + 1)]
            first, second = (find_checkpoint(locate(run)).uri for run in runs)
            storage.write_json(
                place, {"uri": test.uri, "figures": flat(fused((first, second), test.uri), SET), "chance": {}}
            )


def _sets(folder: str) -> "Sets":
    """The splits and the concept table of a folder; ConfigError where one is missing."""
    from pipelines.systems.dual.thesis_measurements import Sets
    from vtr_core.data.manifest import splits
    from vtr_core.storage import locate

    made = splits(folder)
    lacking = [name for name in ("train", "val", "test") if name not in made]
    if lacking:
        raise ConfigError(f"{folder} lacks {', '.join(lacking)}; give a folder of vtr ingest with train, val and test")
    return Sets(made["train"], made["val"], made["test"], (locate(folder) / "concepts").uri)


def _folders(flags: TablesFlags) -> dict[str, str]:
    """The data folders by tagger; "" is the one without tags."""
    return {**({"": flags.data} if flags.data else {}), **_named(flags.tagged, "--tagged", list(TAGGERS))}


def _named(words: Sequence[str], flag: str, allowed: Sequence[str]) -> dict[str, str]:
    found = {}
    for word in words:
        name, equals, uri = word.partition("=")
        if not equals or not uri or name not in allowed:
            raise ConfigError(f"{flag} {word!r}: write NAME=URI, with a name of {', '.join(allowed)}")
        found[name] = uri
    return found


def _how_to(tagger: str, preset: str) -> str:
    if not tagger:
        return "No training data was given: --data FOLDER."
    flag = TAGGERS[tagger]
    return (
        f"No data tagged by it was given: vtr ingest msrvtt … --records videos {flag} --out FOLDER, "
        f"vtr concepts FOLDER {flag} --preset {preset}-pos, then --tagged {tagger}=FOLDER."
    )


def _size_rows() -> list[str]:
    return [row.variant for row in PAPER.tables[0].rows if row.variant is not None]


def _sizes(folders: Mapping[str, str]) -> dict[str, dict[str, tuple[float, ...]]]:
    """Numbers of videos and captions of data sets, for Table 3.1."""
    from vtr_core.data.captions import video_captions
    from vtr_core.data.manifest import Manifest, splits

    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for name, uri in folders.items():
        manifests = [Manifest.load(one) for one in (splits(uri) or {"": uri}).values()]
        captions = sum(len(video.captions) for manifest in manifests for video in video_captions(manifest))
        videos = sum(manifest.videos for manifest in manifests)
        found[f"data-{name}"] = {"data/videos": (float(videos),), "data/captions": (float(captions),)}
    return found


def _without_figures(
    figures: Mapping[str, Mapping[str, tuple[float, ...]]], reasons: Mapping[str, str]
) -> dict[str, str]:
    """The reasons of variants that have no metrics from an earlier call either."""
    return {variant: reason for variant, reason in reasons.items() if not figures.get(variant)}
