"""The rows of the thesis's tables: how each is trained, and what is measured of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

import numpy as np

from pipelines.arguments import check_counts
from pipelines.evaluate.evaluation_flags import RowsRead, device
from pipelines.systems.dual.analysed_set import AnalysedSet, analysed_set, figures_by_space, fused
from pipelines.systems.dual.causality import CausalityFlags
from pipelines.systems.dual.causality_analysis import detector_values, inferences, search_transform
from pipelines.systems.dual.complementarity_analysis import fused_figures
from pipelines.systems.dual.thesis_tables import TablesFlags
from pipelines.systems.registry import SYSTEMS
from pipelines.tables.layout import load_paper
from pipelines.tables.row_settings import variant_configs
from pipelines.tables.runs import (
    Sweep,
    TestSet,
    chosen_tables,
    chosen_variants,
    figures_file,
    page_head,
    read_results,
    run_folder,
    variants_of,
    write_page,
)
from vtr_core import storage
from vtr_core.config.data_sets import joined_uris
from vtr_core.data.captions import video_captions
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.data.manifest import Manifest, splits, training_sets
from vtr_core.data.records.schema import require_videos
from vtr_core.data.shards.shard_file import usable
from vtr_core.errors import ConfigError, InputError
from vtr_core.retrieval.index.build import plan_index
from vtr_core.retrieval.search.index_search import SearchOptions, searcher
from vtr_core.retrieval.search.topics import (
    RankedTopic,
    inferred_scores,
    mean_score,
    parse_judgements,
    parse_topics,
)
from vtr_core.storage import locate
from vtr_core.systems.dual.dual_embeddings import DualRows, dual_encoder, embed_dual, only_captions
from vtr_core.systems.dual.hybrid_scores import dual_scoring
from vtr_core.train.checkpoint.checkpoint_files import find_checkpoint
from vtr_core.train.checkpoint.trained_model import LoadedModel, read_model


@dataclass(frozen=True)
class Sets:
    """The data sets by split: whole videos with all frames; and the concept table of their captions."""

    train: str
    val: str
    test: str
    concepts: str
    ambiguous: Mapping[str, str] = field(default_factory=dict)
    """By tagger the concept table that names the ambiguous captions on which a row is measured."""


def measure(checkpoint: str, sets: Sets, *, detectors: bool) -> dict[str, Any]:
    """Parameter count, test metrics by every way of scoring, and the results of the searches on the validation set.

    The thesis's search and those over all parameters; metrics on the queries with an ambiguous word. detectors: adds
    the concept detectors' mean average precision on all splits. Metrics are in percent except ranks, parameters and
    precision.
    """
    loaded = read_model(checkpoint, SYSTEMS, device())
    rows = embed_dual(loaded, usable(sets.test, require_videos))
    figures: dict[str, Any] = {
        "parameters": sum(parameter.numel() for parameter in loaded.model.parameters()),
        "scored": figures_by_space(rows, dual_scoring(loaded)),
    }
    if loaded.concepts:
        figures["scored"].update(_ambiguous(loaded, rows, sets.ambiguous))
        data = [analysed_set("val", _embedded(loaded, sets.val)), analysed_set("test", rows)]
        _searched(figures, loaded, sets, data)
        if detectors:
            data.append(analysed_set("train", _embedded(loaded, sets.train)))
            spaces = [split.concept_space(dual_encoder(loaded).config.concept_similarity) for split in data]
            values = detector_values(data, spaces, ConceptTable.load(sets.concepts), loaded.concepts)
            figures["detectors"] = {
                f"{side}/{name}": of_side["mean_average_precision"]
                for name, sides in values["splits"].items()
                for side, of_side in sides.items()
            }
    return figures


def fused_rows(checkpoints: tuple[str, str], test: str) -> dict[str, Any]:
    """The metrics of the fusion of two separately trained latent spaces (Table 4.1, independent homogeneous)."""
    first, second = (read_model(checkpoint, SYSTEMS, device()) for checkpoint in checkpoints)
    both = fused(_embedded(first, test), _embedded(second, test))
    return {"scored": {"two spaces": fused_figures(both, dual_scoring(first))}}


def flat(measured: Mapping[str, Any], name: str) -> dict[str, float]:
    """The results of `measure` by metric name, `<name>/<way>/t2v_r1`, `<name>/transform/improved/scale` …

    Parameters are in 10⁶.
    """
    values = {
        f"{name}/{way}/{figure}": value
        for way, figures in measured["scored"].items()
        for figure, value in figures.items()
    }
    for part in ("transform", "validation", "detectors"):
        values.update({f"{name}/{part}/{key}": value for key, value in measured.get(part, {}).items()})
    if "parameters" in measured:
        values.update({f"{name}/{way}/parameters": measured["parameters"] / 1e6 for way in measured["scored"]})
    return values


def _ambiguous(loaded: LoadedModel, rows: DualRows, tables: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Metrics on the ambiguous queries of each tagger and their videos only; none where a tagger finds none."""
    figures = {}
    for tagger, table in tables.items():
        ambiguous = np.isin(rows.caption_key, ConceptTable.load(table).counts.ambiguous)
        if ambiguous.any():
            part = figures_by_space(only_captions(rows, ambiguous), dual_scoring(loaded))
            figures.update({f"{way}, ambiguous, {tagger}": values for way, values in part.items()})
    return figures


def _embedded(loaded: LoadedModel, uri: str) -> DualRows:
    return embed_dual(loaded, usable(uri, require_videos))


def _searched(figures: dict[str, Any], loaded: LoadedModel, sets: Sets, data: Sequence[AnalysedSet]) -> None:
    """Searches on the validation set, and adds the figures of every transform to `figures`."""
    scoring, test = dual_scoring(loaded), data[1].concept_space(dual_encoder(loaded).config.concept_similarity)
    search = search_transform(CausalityFlags(loaded.uri, sets.val, sets.test, "", search="thesis"), data[0], scoring)
    scored = inferences(data[1], test, search.transforms(), scoring)
    figures["scored"].update({way: values["figures"] for way, values in scored.items()})
    figures["transform"], figures["validation"] = {}, {}
    for name, measured in search.results.items():
        at = measured.transform
        figures["transform"] |= {f"{name}/scale": at.scale, f"{name}/shift": at.shift, f"{name}/power": at.power}
        figures["validation"] |= {f"{name}/map": 100 * measured.accuracy, f"{name}/c10": 100 * measured.causality}


YEARS = tuple(range(2016, 2022))
_DEPTH = 1000


@dataclass(frozen=True)
class AvsYear:
    """The collection, topics and judgements of a year."""

    year: int
    data: str
    topics: str
    judgements: str


def parse_year(word: str) -> AvsYear:
    """2016=COLLECTION,TOPICS,JUDGEMENTS; ConfigError for anything else."""
    year, equals, rest = word.partition("=")
    parts = rest.split(",")
    if not equals or year not in map(str, YEARS) or len(parts) != 3 or not all(parts):
        raise ConfigError(
            f"--avs {word!r}: write YEAR=COLLECTION,TOPICS,JUDGEMENTS, a year from {YEARS[0]} to {YEARS[-1]}, a data "
            "set and two files"
        )
    return AvsYear(int(year), *parts)


def avs_figures(checkpoint: str, years: Sequence[AvsYear]) -> dict[str, float]:
    """The mean infAP of every year by its metric name, avs/2016 …, and of the years, avs/overall, in percent.

    Topics are searched in all spaces that the model has; one without a known word has an infAP of 0.
    """
    loaded = read_model(checkpoint, SYSTEMS, device())
    figures = {}
    for data in dict.fromkeys(year.data for year in years):
        manifest = usable(data, require_videos)
        with RowsRead(manifest) as read:
            index = plan_index(loaded, manifest, "exact", watch=read.watch).whole()
        ready = searcher(index, loaded, SearchOptions())
        for year in years:
            if year.data == data:
                topics = parse_topics(_read(year.topics), year.topics)
                hits = ready.search([topic.text for topic in topics], _DEPTH)
                rankings = [
                    RankedTopic(topic, tuple((hit.item_id, hit.score) for hit in items or ()))
                    for topic, items in zip(topics, hits, strict=True)
                ]
                pools = parse_judgements(_read(year.judgements), year.judgements)
                figures[f"avs/{year.year}"] = 100 * mean_score(inferred_scores(rankings, pools, _DEPTH))
    return {**figures, "avs/overall": fmean(figures.values())}


def num_topics(files: Mapping[str, str]) -> dict[str, dict[str, tuple[float, ...]]]:
    """Numbers of topics by collection, for Table 3.1; several files of a collection are joined by commas."""
    return {
        name: {"data/topics": (float(sum(len(parse_topics(_read(uri), uri)) for uri in uris.split(","))),)}
        for name, uris in files.items()
    }


def _read(uri: str) -> bytes:
    try:
        return storage.read_bytes(locate(uri))
    except OSError as error:
        raise InputError(f"{uri} cannot be read ({error}); give a file of topics or judgements") from error


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
    check_counts("vtr tables thesis", seeds=flags.seeds)
    if flags.test:
        raise ConfigError("vtr tables thesis takes the split test of the folders of --data; leave out --test")
    changes = {"evaluation.normalise": "matrix", **changes}  # as the published code rescales scores
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
    for tagger in folders:
        own = [row for row in rows if training(row)[1] == tagger]
        sources = {SINGLE if row == FUSED else row: training(row)[0] for row in own}
        configs = variant_configs(flags.preset, sources.values(), changes)
        if own:
            _sweep(flags, folders, tagger).run_all({row: configs[source] for row, source in sources.items()})
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


def _sweep(flags: TablesFlags, folders: Mapping[str, str], tagger: str) -> Sweep:
    """The runs on the data of a tagger, "" without tags."""
    folder = folders[tagger]
    if len(joined_uris(folder)) > 1 and not flags.avs:
        raise ConfigError(f"{folder}: training on several data sets is of Table 3.4; give its years with --avs")
    sets = _sets(flags, folder, {name: uri for name, uri in folders.items() if name and tagger in ("", name)})

    def measured(checkpoint: str, test_set: TestSet, run: str, _: int) -> dict[str, Any]:
        if test_set.name == AVS:
            figures = avs_figures(checkpoint, [parse_year(word) for word in flags.avs])
        else:
            figures = flat(measure(checkpoint, sets, detectors="/concept/" in run), test_set.name)
        return {"uri": test_set.uri, "figures": figures, "chance": {}}

    test, concepts = _test_sets(flags, sets.test or None), None if tagger else flags.concepts
    return Sweep(flags.out, folder, flags.validation, test, flags.seeds, flags.experiment, measured, concepts=concepts)


def _test_sets(flags: TablesFlags, test: str | None) -> list[TestSet]:
    """The split test, if there is one, and the years of ad-hoc search as one test set, if there are any."""
    own = [] if test is None else [TestSet(SET, test, "thesis")]
    return [*own, *([TestSet(AVS, " ".join(flags.avs), "thesis")] if flags.avs else [])]


def _fuse(flags: TablesFlags, folder: str) -> None:
    """Adds the scores of trainings 0 and 1, 2 and 3, … of the small latent space."""
    test = TestSet(SET, _sets(flags, folder, {}).test, "thesis")
    for pair in range(flags.seeds // 2):
        place = locate(figures_file(run_folder(flags.out, FUSED, pair), test))
        if not storage.exists(place):
            runs = [run_folder(flags.out, SINGLE, seed) for seed in (2 * pair, 2 * pair + 1)]
            first, second = (find_checkpoint(locate(run)).uri for run in runs)
            figures = flat(fused_rows((first, second), test.uri), SET)
            storage.write_json(place, {"uri": test.uri, "figures": figures, "chance": {}})


def _sets(flags: TablesFlags, folder: str, tagged: Mapping[str, str]) -> Sets:
    """The data sets of a folder, or of several joined ones, and their concept table; ConfigError where one is missing.

    tagged: by tagger the folders whose ambiguous captions are measured. Of joined data there is no test.
    """
    several = joined_uris(folder)
    made, tables = splits(several[0]), {name: _table(joined_uris(uri)[0]) for name, uri in tagged.items()}
    if len(several) > 1 or "train" not in made:
        train, val = training_sets(folder, flags.validation)
        if val is None:
            raise ConfigError(f"{folder} has no split val; give a data set to validate on with --validation")
        return Sets(train, val, "", flags.concepts or _table(several[0]), tables)
    lacking = [name for name in ("val", "test") if name not in made and (name == "test" or flags.validation is None)]
    if lacking:
        raise ConfigError(f"{folder} lacks {', '.join(lacking)}; give a folder of vtr ingest with train, val and test")
    return Sets(made["train"], flags.validation or made["val"], made["test"], flags.concepts or _table(folder), tables)


def _table(folder: str) -> str:
    return (locate(folder) / "concepts").uri


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
