"""Measurements on a trained dual encoder for the thesis's tables: every way of scoring, transform search, detectors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from vtr_core.data.concepts.table import ConceptTable
from vtr_core.data.records.required_kind import require_videos
from vtr_core.data.shards.checks import usable
from vtr_core.systems.dual.analyze.analysed_set import analysed_set
from vtr_core.systems.dual.analyze.causality.analyze import analyze
from vtr_core.systems.dual.analyze.causality.command import CausalityFlags
from vtr_core.systems.dual.analyze.causality.findings import Findings
from vtr_core.systems.dual.analyze.complementarity.report import figures_by_space, fused_figures
from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.systems.dual.rows import DualRows, embed_dual, only_captions
from vtr_core.train.checkpoint.load import LoadedModel, load_model

Search = Literal["coordinate", "thesis"]


@dataclass(frozen=True)
class Sets:
    """The data sets by split: whole videos with all frames; and the concept table of their captions."""

    train: str
    val: str
    test: str
    concepts: str


def measure(
    checkpoint: str,
    sets: Sets,
    out: str,
    seed: int,
    experiment: str,
    *,
    search: Search = "coordinate",
    ambiguous: bool = False,
    detectors: bool = False,
) -> dict[str, Any]:
    """Parameter count, test metrics by every way of scoring, and the result of the search on the validation set.

    ambiguous: adds metrics on the queries with an ambiguous word; detectors: adds the concept detectors' mean average
    precision on all splits. Metrics are in percent except ranks, parameters and precision.
    """
    loaded = load_model(checkpoint, "cpu")
    rows = embed_dual(loaded, usable(sets.test, require_videos))
    found: dict[str, Any] = {
        "parameters": sum(parameter.numel() for parameter in loaded.model.parameters()),
        "scored": _by_space(loaded, rows),
    }
    if not loaded.concepts:
        return found
    if ambiguous:
        found["scored"].update(_ambiguous(loaded, rows, sets.concepts))
    findings = analyze(
        CausalityFlags(
            checkpoint,
            sets.val,
            sets.test,
            out,
            train=sets.train if detectors else None,
            concepts=sets.concepts,
            seed=seed,
            experiment=experiment,
            search=search,
        )
    )
    return _with_causality(found, findings)


def fused(checkpoints: tuple[str, str], test: str) -> dict[str, Any]:
    """The metrics of the fusion of two separately trained latent spaces (Table 4.1, independent homogeneous)."""
    first, second = (
        analysed_set("test", embed_dual(load_model(one, "cpu"), usable(test, require_videos))) for one in checkpoints
    )
    return {"scored": {"two spaces": fused_figures(first, second)}}


def flat(measured: Mapping[str, Any], name: str) -> dict[str, float]:
    """The results of `measure` by metric name, `<name>/<way>/t2v_r1`, `<name>/transform/scale` …; parameters in 10⁶."""
    values = {
        f"{name}/{way}/{figure}": value
        for way, figures in measured["scored"].items()
        for figure, value in figures.items()
    }
    for part in ("transform", "detectors"):
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
    kept = np.isin(rows.caption_key, ConceptTable.load(concepts).ambiguous_captions)
    if not kept.any():
        return {}
    return {f"{way}, ambiguous": v for way, v in _by_space(loaded, only_captions(rows, kept)).items()}


def _with_causality(found: dict[str, Any], findings: Findings) -> dict[str, Any]:
    for one in findings.inferences:
        causality = {f"c{k}": 100 * mean for k, (mean, _) in one.causality.items()}
        found["scored"][one.name] = {**one.figures.values(), **causality}
    start, best = findings.search.start, findings.search.best
    found["validation"] = {
        name: {"map": 100 * one.accuracy, "c10": 100 * one.causality}
        for name, one in (("original", start), ("improved", best))
    }
    found["transform"] = {
        "scale": best.transform.scale, "shift": best.transform.shift, "power": best.transform.power,
    }  # fmt: skip
    if findings.detectors is not None and len(findings.detectors.splits) == 3:
        splits = zip(("val", "test", "train"), findings.detectors.splits, strict=True)
        found["detectors"] = {
            f"{side.side}/{name}": side.tags.mean for name, split in splits for side in (split.text, split.video)
        }
    return found
