"""The rows of the thesis's tables: trained and evaluated where data is given, else why they are not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pipelines.arguments import check_counts
from pipelines.systems.dual.thesis_measurements import (
    Sets,
    avs_figures,
    flat,
    fused,
    measure,
    num_topics,
    parse_year,
)
from pipelines.systems.dual.thesis_tables import TablesFlags
from pipelines.tables.paper import load_paper
from pipelines.tables.runs import (
    Sweep,
    TestSet,
    chosen_tables,
    chosen_variants,
    figures_file,
    page_head,
    read_results,
    run_folder,
    variant_configs,
    variants_of,
    write_page,
)
from vtr_core import storage
from vtr_core.data.captions import video_captions
from vtr_core.data.manifest import Manifest, splits
from vtr_core.errors import ConfigError
from vtr_core.storage import locate
from vtr_core.train.checkpoint.checkpoint_files import find_checkpoint

PAPER = load_paper("thesis")
SET, AVS = "msrvtt", "avs"
"""The test sets: MSR-VTT's split, and all years of ad-hoc search."""
TAGGERS = {
    "treetagger": "--tagger treetagger:FOLDER",
    "wordnet": "--tagger wordnet:FOLDER",
    "spacy": "--tagger default, or spacy:NAME",
}
"""Names of the thesis's taggers, and their flags for `vtr ingest` and `vtr concepts`."""
SINGLE, FUSED = "equal-latent", "equal-latent-fused"
"""A latent space alone, and two trainings of it whose scores are added."""
SIZES = "data-"
"""The beginning of the variants of Table 3.1, which are data sets."""
BASE = "base"
"""The name of the base preset's own row in --rows, as of its folder."""


def training(variant: str) -> tuple[str, str]:
    """The preset's variant that a row is trained as, and the tagger of its data, "" without tags."""
    if variant == FUSED:
        return SINGLE, ""
    tagger = variant.rpartition("pos-")[2] if "pos-" in variant else ""
    return variant.removesuffix(f"-{tagger}") if tagger else variant, tagger


def tables(flags: TablesFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, writes `tables.md` and `tables.json` into the folder, and returns the page."""
    check_counts("vtr tables thesis", seeds=flags.seeds, max_concurrent=flags.max_concurrent)
    if flags.test or flags.validation:
        raise ConfigError(
            "vtr tables thesis takes val and test of the folders of --data; leave out --test, --validation"
        )
    chosen = chosen_tables(PAPER, flags)
    collections = [name.removeprefix(SIZES) for name in variants_of(PAPER.tables[:1])]
    folders = _named(flags.tagged, "--tagged", list(TAGGERS)) | ({"": flags.data} if flags.data else {})
    sizes, topics = (_named(getattr(flags, flag), f"--{flag}", collections) for flag in ("size", "topics"))
    years = [parse_year(word) for word in flags.avs]
    if len({year.year for year in years}) < len(years):
        raise ConfigError(f"--avs {' '.join(flags.avs)}: a year is given twice")
    variants = [variant for variant in variants_of(chosen) if not variant.startswith(SIZES)]
    rows = chosen_variants("--rows", flags.rows, variants, BASE)
    not_run = {row: _how_to(training(row)[1], flags.preset) for row in rows if training(row)[1] not in folders}
    for tagger, folder in folders.items():
        own = [row for row in rows if training(row)[1] == tagger]
        sources = {SINGLE if row == FUSED else row: training(row)[0] for row in own}
        configs = variant_configs(flags.preset, sources.values(), changes)
        if own:
            _sweep(flags, folder).run_all({row: configs[source] for row, source in sources.items()})
    if FUSED in rows and FUSED not in not_run:
        _fuse(flags, folders[""])
    results = read_results(flags.out, variants, _test_sets(flags, ""), flags.seeds)
    figures = {name: dict(values) for name, values in results.figures.items()}
    counted = [_sizes({**sizes, **({SET: flags.data} if flags.data else {})}), num_topics(topics)]
    for name, values in (row for part in counted for row in part.items()):
        figures[f"{SIZES}{name}"] = {**figures.get(f"{SIZES}{name}", {}), **values}
    not_run = {row: reason for row, reason in not_run.items() if not figures.get(row)}  # else of an earlier call
    results = replace(results, figures=figures, missing={} if years else PAPER.missing, not_run=not_run)
    return write_page(PAPER, flags.out, page_head(flags, changes), chosen, results)


def _sweep(flags: TablesFlags, folder: str) -> Sweep:
    sets = _sets(folder)
    test, measured = _test_sets(flags, sets.test), partial(_measured, flags, sets)
    return Sweep(
        flags.out, folder, None, test, flags.seeds, flags.experiment, measured, max_concurrent=flags.max_concurrent
    )


def _measured(
    flags: TablesFlags,
    sets: Sets,
    checkpoint: str,
    test_set: TestSet,
    folder: str,
    seed: int,  # noqa: ARG001  as `Sweep.measure`
) -> dict[str, Any]:
    if test_set.name == AVS:
        figures = avs_figures(checkpoint, [parse_year(word) for word in flags.avs])
    else:
        figures = flat(measure(checkpoint, sets, detectors="/concept/" in folder), test_set.name)
    return {"uri": test_set.uri, "figures": figures, "chance": {}}


def _test_sets(flags: TablesFlags, test: str) -> list[TestSet]:
    """The split test, and the years of ad-hoc search as one test set, if there are any."""
    return [TestSet(SET, test, "thesis"), *([TestSet(AVS, " ".join(flags.avs), "thesis")] if flags.avs else [])]


def _fuse(flags: TablesFlags, folder: str) -> None:
    """Adds the scores of trainings 0 and 1, 2 and 3, … of the small latent space."""
    test = TestSet(SET, _sets(folder).test, "thesis")
    for pair in range(flags.seeds // 2):
        place = locate(figures_file(run_folder(flags.out, FUSED, pair), test))
        if not storage.exists(place):
            runs = [run_folder(flags.out, SINGLE, seed) for seed in (2 * pair, 2 * pair + 1)]
            first, second = (find_checkpoint(locate(run)).uri for run in runs)
            figures = flat(fused((first, second), test.uri), SET)
            storage.write_json(place, {"uri": test.uri, "figures": figures, "chance": {}})


def _sets(folder: str) -> Sets:
    """The splits and the concept table of a folder; ConfigError where one is missing."""
    made = splits(folder)
    lacking = [name for name in ("train", "val", "test") if name not in made]
    if lacking:
        raise ConfigError(f"{folder} lacks {', '.join(lacking)}; give a folder of vtr ingest with train, val and test")
    return Sets(made["train"], made["val"], made["test"], (locate(folder) / "concepts").uri)


def _named(words: Sequence[str], flag: str, allowed: Sequence[str]) -> dict[str, str]:
    """Places by name, from NAME=URI."""
    places = {}
    for word in words:
        name, equals, uri = word.partition("=")
        if not equals or not uri or name not in allowed:
            raise ConfigError(f"{flag} {word!r}: write NAME=URI, with a name of {', '.join(allowed)}")
        places[name] = uri
    return places


def _how_to(tagger: str, preset: str) -> str:
    if not tagger:
        return "No training data was given: --data FOLDER."
    flag = TAGGERS[tagger]
    return (
        f"No data tagged by it was given: vtr ingest msrvtt … --records videos {flag} --out FOLDER, "
        f"vtr concepts FOLDER {flag} --preset {preset}-pos, then --tagged {tagger}=FOLDER."
    )


def _sizes(folders: Mapping[str, str]) -> dict[str, dict[str, tuple[float, ...]]]:
    """Numbers of videos and captions of data sets, for Table 3.1."""
    sizes: dict[str, dict[str, tuple[float, ...]]] = {}
    for name, uri in folders.items():
        manifests = [Manifest.load(split) for split in (splits(uri) or {"": uri}).values()]
        captions = sum(len(video.captions) for manifest in manifests for video in video_captions(manifest))
        videos = sum(manifest.videos for manifest in manifests)
        sizes[name] = {"data/videos": (float(videos),), "data/captions": (float(captions),)}
    return sizes
