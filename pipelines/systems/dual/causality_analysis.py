"""Chapter 5 of the thesis: the searched transform of concept scores, causality, and detectors; numbers and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from pipelines.evaluate.evaluation_flags import device, short_names
from pipelines.report.figures import blank_figure, name_axes
from pipelines.report.logged_run import write_analysis
from pipelines.systems.dual.analysed_set import AnalysedSet, analysed_set, figures_by_space
from pipelines.systems.dual.causality import CausalityFlags
from pipelines.systems.registry import SYSTEMS
from vtr_core import storage
from vtr_core.analysis.causality import CausalityCurves, causality_curves, every_set, matched_pairs
from vtr_core.analysis.concept_detectors import Fate, TagPrecision, fates, tag_precision
from vtr_core.analysis.transform_search import (
    Coordinate,
    Measured,
    TransformObjective,
    coordinate_search,
    coordinates,
    pareto_front,
    thesis_search,
)
from vtr_core.analysis.transforms import ConceptSpace, Transform, top_k_similarity
from vtr_core.data.concepts.concept_table import FILE, ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.schema import require_videos
from vtr_core.data.shards.shard_file import usable
from vtr_core.embedding.video_ranking import Scoring
from vtr_core.errors import ConfigError, DatasetError, command_line
from vtr_core.metrics.average_precision import average_precision
from vtr_core.metrics.ranking import ITEM_CHUNK, QUERY_CHUNK
from vtr_core.metrics.ranks import Relevance, from_labels, standing
from vtr_core.run.inputs import concept_places
from vtr_core.storage import check_writable, locate
from vtr_core.systems.dual.dual_embeddings import dual_encoder, embed_dual
from vtr_core.systems.dual.evaluation import mean_precision
from vtr_core.systems.dual.hybrid_scores import dual_scoring
from vtr_core.train.checkpoint.trained_model import ENCODER, LoadedModel, read_model

ENOUGH = 0.72
"""C@10 on the validation data: the goal of 0.7, and as much more as other data may have less."""
SWEPT: Mapping[Coordinate, tuple[float, ...]] = MappingProxyType(
    {"power": (0.5, 1.0, 1.5, 2.0, 3.0), "shift": (-2.0, -1.0, 0.0, 1.0, 2.0)}
)
"""Values of the sweeps over power and shift; 1 and 0 are the model as trained."""
SHIFTS = tuple(number / 10 for number in range(-10, 11))
"""Of Figure 5.5."""
SHOWN_KS = (10, 30)
"""k of the reported C@k: tags that a person takes in at once, and the maximum number of tags of a caption or video."""
BINS, FEWEST_VIDEOS = 20, 5
"""Of a histogram of detections; training videos with a concept that a judgement of its detector needs."""


def analyze(flags: CausalityFlags) -> None:
    """Searches on the validation data, measures on the test data, and writes and logs numbers and figures."""
    _check(flags)
    check_writable(locate(flags.out))
    uris = [flags.data, flags.test, *([flags.train] if flags.train else [])]
    manifests = [usable(uri, require_videos) for uri in uris]
    if manifests[0].fingerprint == manifests[1].fingerprint:
        raise ConfigError(
            f"vtr analyze causality: --data and --test are the same data set ({flags.test}); figures on what the "
            "transform was searched on would flatter it, so give another one"
        )
    table = _table(flags, manifests)
    loaded = read_model(flags.checkpoint, SYSTEMS, device())
    if table is not None:
        _check_concepts(loaded, table)
    names = short_names(manifests)
    scoring, similarity = dual_scoring(loaded), dual_encoder(loaded).config.concept_similarity
    sets = [analysed_set(name, embed_dual(loaded, m)) for name, m in zip(names, manifests, strict=True)]
    spaces = [data.concept_space(similarity) for data in sets]
    search, test = search_transform(flags, sets[0], scoring), spaces[1]
    best, sampled = search.results["improved"].transform, (flags.top_k_captions, flags.seed)
    both = {"original": test.identity, "improved": best}
    ks = sorted({min(k, test.text.shape[1]) for k in flags.top_k} | {test.text.shape[1]})
    sweeps = swept(test, flags.scales)
    values: dict[str, Any] = {
        "checkpoint": loaded.uri,
        "test": names[1],
        "left_out": {data.name: data.left_out for data in sets},
        "search": {  # accuracy is mean mAP and causality C@10, both in [0, 1]
            "kind": flags.search,
            "results": {name: asdict(measured) for name, measured in search.results.items()},
            "front": [asdict(measured) for measured in pareto_front(search.measured)],
            "measured": [asdict(measured) for measured in search.measured],
        },
        "inferences": inferences(sets[1], test, search.transforms(), scoring),
        "curves": {name: curves_by_set(test, transform, flags.seed) for name, transform in both.items()},
        "top_k": {name: top_k_precision(test, transform, ks, *sampled) for name, transform in both.items()},
        "sweeps": {
            parameter: {
                f"{value:g}": curve_values(matched_curves(test, changed)) for value, changed in of_values.items()
            }
            for parameter, of_values in sweeps.items()
        },
        "top_k_sweep": {
            f"{parameter} {value:g}": top_k_precision(test, changed, ks, *sampled)
            for parameter, by_value in sweeps.items()
            if parameter != "shift"
            for value, changed in by_value.items()
        },
        "shift_curve": shift_curve(sets[0], best, scoring),
        "detectors": None if table is None else detector_values(sets, spaces, table, loaded.concepts),
    }
    best.write((locate(flags.out) / "transform.json").uri)
    metrics = {
        f"test/{names[1]}/{way.replace(', ', '/')}/{name}": value
        for way, row in values["inferences"].items()
        for name, value in row["figures"].items()
    }
    settings = {name: getattr(flags, name) for name in ("search", "c10", "captions_per_video", "seed")}
    inputs = dict(zip(names, manifests, strict=True))
    logged = values, metrics, figures(values), settings
    write_analysis("causality", flags.out, flags.experiment, [loaded], inputs, *logged)


def _check(flags: CausalityFlags) -> None:
    if flags.checkpoint.startswith(ENCODER):
        raise ConfigError(
            f"vtr analyze causality: {flags.checkpoint} was not trained, and there is no transform of its concepts to "
            "search; its C@10 and C@30 are on the page of "
            + command_line("explain", flags.checkpoint, "--data", "URI", "--query", "TEXT")
        )
    if not flags.scales or min(flags.scales) <= 0:
        raise ConfigError("vtr analyze causality: --scales are numbers greater than 0; give at least one")
    counts = {"captions-per-video": flags.captions_per_video, "top-k-captions": flags.top_k_captions}
    for name, value in {**counts, "top-k": min(flags.top_k, default=0)}.items():
        if value is not None and value < 1:
            raise ConfigError(f"vtr analyze causality: --{name} is {value}; it must be at least 1")
    if flags.c10 is not None and not 0 < flags.c10 <= 100:
        raise ConfigError(f"vtr analyze causality: --c10 is {flags.c10:g}; give a percentage above 0, at most 100")
    if flags.c10 is not None and flags.search == "thesis":
        raise ConfigError(
            f"vtr analyze causality: --search thesis has a goal of its own, {100 * ENOUGH:g} %; leave out --c10"
        )


def _table(flags: CausalityFlags, manifests: Sequence[Manifest]) -> ConceptTable | None:
    """The given concept table, or the one in or beside the data if it exists; it must contain every data set."""
    places = [locate(flags.concepts)] if flags.concepts else concept_places(locate(flags.train or flags.data))
    folder = next((place for place in places if storage.exists(place / FILE)), places[0])
    if flags.concepts is None and not storage.exists(folder / FILE):
        shown = " or ".join(str(place) for place in places)
        print(f"there is no concept table at {shown}: nothing is said on the detectors (vtr concepts makes one)")
        return None
    table = ConceptTable.load(folder.uri)
    for manifest in manifests:
        table.require_dataset(manifest.uri, manifest.fingerprint)
    return table


def _check_concepts(loaded: LoadedModel, table: ConceptTable) -> None:
    """DatasetError where the labels are of other concepts than those that the model was trained on."""
    ranked = table.names[: len(loaded.concepts)]
    if ranked == loaded.concepts:
        return
    other = next((pair for pair in zip(ranked, loaded.concepts, strict=False) if len(set(pair)) > 1), None)
    where = f"there are {len(ranked)}" if other is None else f"{other[0]!r} is in the place of {other[1]!r}"
    raise DatasetError(
        f"the model detects {len(loaded.concepts)} concepts; in the concept table {table.uri} {where}; "
        "give with --concepts the table that it was trained with"
    )


@dataclass(frozen=True)
class Search:
    """A search on validation data. `results`: "original" and "improved", and that with enough C@10."""

    results: Mapping[str, Measured]
    measured: Sequence[Measured]

    def transforms(self) -> dict[str, Transform]:
        """The transforms of `results`."""
        return {name: measured.transform for name, measured in self.results.items()}


def search_transform(flags: CausalityFlags, data: AnalysedSet, scoring: Scoring) -> Search:
    """The transform that `flags.search` finds on a data set, on a sample of its captions if the flags say so.

    "thesis" adds a search over all parameters together: enough, the most accurate with a C@10 of `ENOUGH`.
    """
    part = data if flags.captions_per_video is None else data.few_captions(flags.captions_per_video, flags.seed)
    alone, similarity = replace(scoring, space="concept"), scoring.transform.similarity
    assert similarity != "dot", "of a trained concept space"
    objective = TransformObjective(
        part.concept_space(similarity), lambda transform: mean_precision(part.rows, alone.transformed(transform))
    )
    start = objective.identity
    results = {"original": objective(start)}
    if flags.search == "thesis":
        results["improved"] = thesis_search(objective, start)
        results["enough"] = coordinate_search(objective, start, tolerance=1.0, enough=ENOUGH)
    elif flags.c10 is not None:
        results["improved"] = coordinate_search(objective, start, tolerance=1.0, enough=flags.c10 / 100)
    else:
        results["improved"] = coordinate_search(objective, start)
    return Search(results, objective.measured)


def inferences(
    data: AnalysedSet, space: ConceptSpace, transforms: Mapping[str, Transform], scoring: Scoring
) -> dict[str, dict[str, Any]]:
    """Table 5.3: retrieval metrics and C@k, both in percent, of the hybrid where there is one and of concepts alone.

    Both as the model is evaluated; the concepts of hybrid scores have the share 1 − α of the causality.
    """
    hybrids, alone = {}, {}
    for name, transform in transforms.items():
        figures, curves = figures_by_space(data.rows, scoring.transformed(transform)), matched_curves(space, transform)
        causality = {f"c{k}": 100 * curves.at(k) for k in SHOWN_KS}
        alone[f"concepts, {name}"] = {"transform": asdict(transform), "figures": {**figures["concept"], **causality}}
        if "two spaces" in figures:
            shares = {k: (1 - scoring.latent_weight) * value for k, value in causality.items()}
            hybrids[f"hybrid, {name}"] = {
                "transform": asdict(transform),
                "figures": {**figures["two spaces"], **shares},
            }
    return {**hybrids, **alone}


def matched_curves(space: ConceptSpace, transform: Transform) -> CausalityCurves:
    """The causality curves over the matched pairs."""
    text, video = transform.apply(space.text), transform.apply(space.video)
    return causality_curves(video, text, matched_pairs(space.caption_video), space.similarity)


def curves_by_set(space: ConceptSpace, transform: Transform, seed: int) -> dict[str, dict[str, Any]]:
    """Figure 5.2: the causality curves over matched, retrieved and random pairs, for concepts alone."""
    text, video = transform.apply(space.text), transform.apply(space.video)
    sets = every_set(space.scores(transform), space.caption_video, seed)
    curves = [curve_values(causality_curves(video, text, pairs, space.similarity)) for pairs in sets]
    return {pairs.name: {"num_pairs": len(pairs.video), **values} for pairs, values in zip(sets, curves, strict=True)}


def curve_values(curves: CausalityCurves) -> dict[str, Any]:
    """The curves as lists."""
    return {name: np.asarray(value).tolist() for name, value in asdict(curves).items()}


def swept(space: ConceptSpace, scales: Sequence[float]) -> dict[Coordinate, dict[float, Transform]]:
    """Figures 5.4, 5.6: transforms that vary each parameter alone; a scale has no effect on a cosine."""
    values = {**SWEPT, "scale": scales}
    names = coordinates(space.similarity)
    return {name: {value: space.identity.with_value(name, value) for value in values[name]} for name in names}


def shift_curve(data: AnalysedSet, best: Transform, scoring: Scoring) -> dict[float, float]:
    """Figure 5.5: mean mAP in [0, 1] on a data set against the shift b, with scale and power of the best transform."""
    alone = replace(scoring, space="concept")
    return {shift: mean_precision(data.rows, alone.transformed(best.with_value("shift", shift))) for shift in SHIFTS}


def top_k_precision(
    space: ConceptSpace, transform: Transform, ks: Sequence[int], captions: int, seed: int
) -> dict[int, float]:
    """Figures 5.3 and 5.6: mean mAP in [0, 1] when only the k strongest concepts of each pair are scored.

    Over at most `captions` captions, spread evenly over the videos, because the concepts of every pair are sorted; all
    videos are kept.
    """
    part = space.few_captions(max(1, captions // len(space.video)), seed)
    if len(part.text) > captions:
        order = torch.randperm(len(part.text), generator=torch.Generator().manual_seed(seed))
        sample = order[:captions].sort().values
        part = ConceptSpace(part.text[sample], part.video, part.caption_video[sample], part.similarity)
    scores_by_k = top_k_similarity(transform.apply(part.text), transform.apply(part.video), ks, part.similarity)
    owners = part.caption_video.numpy()
    queries = np.unique(owners)
    there, back = from_labels(owners, np.arange(len(part.video))), from_labels(queries, owners)

    def precision(scores: np.ndarray, relevance: Relevance) -> float:
        ranks = standing(lambda rows, items: scores[rows, items], relevance, QUERY_CHUNK, ITEM_CHUNK)
        return float(average_precision(ranks, relevance, "expected").mean())

    return {
        k: fmean((precision(scores.numpy(), there), precision(scores.T[queries].numpy(), back)))
        for k, scores in scores_by_k.items()
    }


def detector_values(
    sets: Sequence[AnalysedSet], spaces: Sequence[ConceptSpace], table: ConceptTable, concepts: Sequence[str]
) -> dict[str, Any]:
    """Table 5.4 and Figure 5.10: average precision of each concept's detector on every split, chance being its share.

    Where the training data are the third of the splits, also each concept's fate, and the histogram of detections,
    with and without it, of the most frequent concept of each fate. A caption has the labels of its video.
    """
    labels = [table.soft_labels(data.video_key, len(concepts)) > 0 for data in sets]
    video = [tag_precision(space.video.numpy(), own) for space, own in zip(spaces, labels, strict=True)]
    text = [
        tag_precision(space.text.numpy(), own[space.caption_video.numpy()])
        for space, own in zip(spaces, labels, strict=True)
    ]
    by_fate: dict[Fate, list[str]] = {"learned": [], "not generalised": [], "failed": [], "too rare": []}
    if len(sets) > 2:
        for name, fate in zip(concepts, fates(video[2], video[1], FEWEST_VIDEOS, len(labels[2])), strict=True):
            by_fate[fate].append(name)
    histograms = {
        f"{name} ({fate})": {
            data.name: _histogram(space, own, list(concepts).index(name))
            for data, space, own in zip(sets, spaces, labels, strict=True)
        }
        for fate, (name, *_) in ((fate, names) for fate, names in by_fate.items() if names)
    }
    splits = {
        data.name: {"text": _precisions(text[number]), "video": _precisions(video[number])}
        for number, data in enumerate(sets)
    }
    return {"splits": splits, "fates": by_fate if len(sets) > 2 else None, "histograms": histograms}


def _precisions(tags: TagPrecision) -> dict[str, Any]:
    mean, *precision = (value if np.isfinite(value) else None for value in (tags.mean, *tags.precision.tolist()))
    return {"mean_average_precision": mean, "precision": precision, "prevalence": tags.prevalence.tolist()}


def _histogram(space: ConceptSpace, present: np.ndarray, concept: int) -> dict[str, list[int]]:
    detected, has_concept = torch.sigmoid(space.video[:, concept]).numpy(), present[:, concept]
    parts = {"present": detected[has_concept], "absent": detected[~has_concept]}
    return {name: np.histogram(part, BINS, (0.0, 1.0))[0].tolist() for name, part in parts.items()}


_COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860")


def figures(values: Mapping[str, Any]) -> dict[str, Figure]:
    """Figures 5.2 to 5.6 and 5.10 from the numbers, by file name."""
    curves, detectors = values["curves"], values["detectors"]
    matched = {name: sets["matched"] for name, sets in curves.items()}
    drawn = {
        "main": _curves({"original and improved": matched}),
        "pair_sets": _curves({"as trained": curves["original"]}),
        "sweeps": _curves(values["sweeps"]),
        "top_k": _top_k(values["top_k"]),
        "top_k_sweep": _top_k(values["top_k_sweep"]),
        "shift": _shift(values["shift_curve"]),
    }
    if detectors is not None and detectors["histograms"]:
        drawn["histograms"] = _histograms(detectors["histograms"])
    return drawn


def _curves(panels: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Figure:
    """Contributions by rank (dotted) and cumulative, mean ± standard deviation (Figures 5.2 and 5.4)."""
    figure = blank_figure(6 * len(panels), 4.4)
    for axes, (title, curves) in zip(np.ravel(figure.subplots(1, len(panels))), panels.items(), strict=True):
        beside = axes.twinx()
        for colour, (label, curve) in zip(_COLOURS, curves.items(), strict=False):
            total, spread = (100 * np.array(curve[f"cumulative_{name}"]) for name in ("mean", "std"))
            ranks = range(1, len(total) + 1)
            axes.plot(ranks, total, color=colour, label=label, linewidth=1.2)
            axes.fill_between(ranks, total - spread, total + spread, color=colour, alpha=0.1, linewidth=0)
            beside.plot(ranks, 100 * np.array(curve["individual_mean"]), ":", color=colour, linewidth=1.2)
        axes.set(xscale="log", ylim=(0, 102))
        beside.set_ylabel("contribution of the concept (dotted), %")
        name_axes(axes, "strongest concepts", "causality, %", title)
        axes.legend(fontsize=8)
    return figure


def _top_k(series: Mapping[str, Mapping[int, float]]) -> Figure:
    """Figures 5.3 and 5.6: mAP from the k strongest concepts of each pair."""
    figure = blank_figure(7, 4.2)
    axes = figure.subplots()
    for label, by_k in series.items():
        axes.plot(list(by_k), [100 * value for value in by_k.values()], marker=".", label=label)
    axes.set(xscale="log", ylim=(0, None))
    name_axes(axes, "strongest concepts scored", "mean mAP, %", "similarity from the top k concepts")
    axes.legend(fontsize=8)
    return figure


def _shift(curve: Mapping[float, float]) -> Figure:
    """Figure 5.5: mAP on the validation data against the shift."""
    figure = blank_figure(7, 4.2)
    axes = figure.subplots()
    axes.plot(list(curve), [100 * value for value in curve.values()], marker=".")
    name_axes(axes, "shift b, at the best scale and power", "mean mAP, %", "")
    return figure


def _histograms(histograms: Mapping[str, Mapping[str, Mapping[str, Sequence[int]]]]) -> Figure:
    """Figure 5.10: detections of videos with and without a concept, one concept of each fate, on every split."""
    columns = len(next(iter(histograms.values())))
    figure, edges = blank_figure(4.2 * columns, 2.6 * len(histograms)), np.linspace(0, 1, BINS + 1)
    grid = figure.subplots(len(histograms), columns, squeeze=False)
    for row, (concept, by_split) in zip(grid, histograms.items(), strict=True):
        for axes, (split, counted) in zip(row, by_split.items(), strict=True):
            for label, counts in counted.items():
                axes.stairs(np.array(counts) / max(1, sum(counts)), edges, fill=True, alpha=0.5, label=label)
            name_axes(axes, "detection", "share of videos", f"{concept}, {split}")
            axes.legend(fontsize=7)
    return figure
