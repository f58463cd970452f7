"""Measurements for the thesis's tables: scores, transform search, detectors, ad-hoc video search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from pipelines.systems.dual.analysed_set import AnalysedSet, analysed_set
from pipelines.systems.dual.causality import CausalityFlags
from pipelines.systems.dual.causality_analysis import detector_values, inferences, search_transform
from pipelines.systems.dual.complementarity_analysis import figures_by_space, fused_figures
from pipelines.systems.registry import SYSTEMS
from vtr_core import storage
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.data.records.schema import require_videos
from vtr_core.data.shards.shard_file import usable
from vtr_core.errors import ConfigError, InputError
from vtr_core.retrieval.index.build import build_index
from vtr_core.retrieval.search.index_search import SearchOptions, searcher
from vtr_core.retrieval.search.topics import (
    RankedTopic,
    Topic,
    inferred_scores,
    mean_score,
    parse_judgements,
    parse_topics,
)
from vtr_core.storage import locate
from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.systems.dual.dual_embeddings import DualRows, dual_encoder, embed_dual, only_captions
from vtr_core.train.checkpoint.trained_model import LoadedModel, read_model


@dataclass(frozen=True)
class Sets:
    """The data sets by split: whole videos with all frames; and the concept table of their captions."""

    train: str
    val: str
    test: str
    concepts: str


def measure(checkpoint: str, sets: Sets, *, detectors: bool) -> dict[str, Any]:
    """Parameter count, test metrics by every way of scoring, and the results of the searches on the validation set.

    The thesis's search and those over all parameters; metrics on the queries with an ambiguous word. detectors: adds
    the concept detectors' mean average precision on all splits. Metrics are in percent except ranks, parameters and
    precision.
    """
    loaded = read_model(checkpoint, SYSTEMS, "cpu")
    rows = embed_dual(loaded, usable(sets.test, require_videos))
    figures: dict[str, Any] = {
        "parameters": sum(parameter.numel() for parameter in loaded.model.parameters()),
        "scored": _by_space(loaded, rows),
    }
    if loaded.concepts:
        figures["scored"].update(_ambiguous(loaded, rows, sets.concepts))
        data = [analysed_set("val", _embedded(loaded, sets.val)), analysed_set("test", rows)]
        _searched(figures, loaded, sets, data)
        if detectors:
            data.append(analysed_set("train", _embedded(loaded, sets.train)))
            figures["detectors"] = _detectors(loaded, sets, data)
    return figures


def fused(checkpoints: tuple[str, str], test: str) -> dict[str, Any]:
    """The metrics of the fusion of two separately trained latent spaces (Table 4.1, independent homogeneous)."""
    first, second = (
        analysed_set("test", _embedded(read_model(checkpoint, SYSTEMS, "cpu"), test)) for checkpoint in checkpoints
    )
    return {"scored": {"two spaces": fused_figures(first, second)}}


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


def _by_space(loaded: LoadedModel, rows: DualRows) -> dict[str, dict[str, float]]:
    model = loaded.config.model
    assert isinstance(model, HybridEncoderConfig)
    test = analysed_set("test", rows)
    return figures_by_space(test, model.concept_similarity, loaded.config.evaluation.latent_weight)


def _ambiguous(loaded: LoadedModel, rows: DualRows, concepts: str) -> dict[str, dict[str, float]]:
    """Metrics on the ambiguous queries and their videos only; empty where there are none."""
    ambiguous = np.isin(rows.caption_key, ConceptTable.load(concepts).ambiguous_captions)
    if not ambiguous.any():
        return {}
    return {f"{way}, ambiguous": v for way, v in _by_space(loaded, only_captions(rows, ambiguous)).items()}


def _embedded(loaded: LoadedModel, uri: str) -> DualRows:
    return embed_dual(loaded, usable(uri, require_videos))


def _searched(figures: dict[str, Any], loaded: LoadedModel, sets: Sets, data: Sequence[AnalysedSet]) -> None:
    """Searches on the validation set, and adds the figures of every transform to `figures`."""
    similarity, weight = dual_encoder(loaded).config.concept_similarity, loaded.config.evaluation.latent_weight
    val, test = (split.concept_space(similarity) for split in data)
    search = search_transform(CausalityFlags(loaded.uri, sets.val, sets.test, "", search="thesis"), val)
    scored = inferences(data[1], test, search.transforms(), weight)
    figures["scored"].update({way: values["figures"] for way, values in scored.items()})
    figures["transform"], figures["validation"] = {}, {}
    for name, measured in search.results.items():
        at = measured.transform
        figures["transform"] |= {f"{name}/scale": at.scale, f"{name}/shift": at.shift, f"{name}/power": at.power}
        figures["validation"] |= {f"{name}/map": 100 * measured.accuracy, f"{name}/c10": 100 * measured.causality}


def _detectors(loaded: LoadedModel, sets: Sets, data: Sequence[AnalysedSet]) -> dict[str, float]:
    similarity = dual_encoder(loaded).config.concept_similarity
    spaces = [split.concept_space(similarity) for split in data]
    splits = detector_values(data, spaces, ConceptTable.load(sets.concepts), loaded.concepts)["splits"]
    return {
        f"{side}/{name}": values["mean_average_precision"]
        for name, sides in splits.items()
        for side, values in sides.items()
    }


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
    loaded = read_model(checkpoint, SYSTEMS, "cpu")
    figures = {}
    for data in dict.fromkeys(year.data for year in years):
        ready = searcher(build_index(loaded, usable(data, require_videos), "exact"), loaded, SearchOptions())
        for year in years:
            if year.data == data:
                topics = read_topics(year.topics)
                hits = ready.search([topic.text for topic in topics], _DEPTH)
                rankings = [
                    RankedTopic(topic, tuple((hit.item_id, hit.score) for hit in items or ()))
                    for topic, items in zip(topics, hits, strict=True)
                ]
                pools = parse_judgements(_read(year.judgements), year.judgements)
                figures[f"avs/{year.year}"] = 100 * mean_score(inferred_scores(rankings, pools, _DEPTH))
    return {**figures, "avs/overall": fmean(figures.values())}


def read_topics(uri: str) -> tuple[Topic, ...]:
    """The topics of a file."""
    return parse_topics(_read(uri), uri)


def num_topics(files: Mapping[str, str]) -> dict[str, dict[str, tuple[float, ...]]]:
    """Numbers of topics by collection, for Table 3.1; several files of a collection are joined by commas."""
    return {
        name: {"data/topics": (float(sum(len(read_topics(uri)) for uri in uris.split(","))),)}
        for name, uris in files.items()
    }


def _read(uri: str) -> bytes:
    try:
        return storage.read_bytes(locate(uri))
    except OSError as error:
        raise InputError(f"{uri} cannot be read ({error}); give a file of topics or judgements") from error
