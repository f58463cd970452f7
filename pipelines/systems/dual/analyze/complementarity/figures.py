"""The figures of `vtr analyze complementarity`."""

import itertools

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipelines.report.axes import blank_figure, name_axes
from pipelines.systems.dual.analyze.complementarity.findings import TESTED, DimensionStudy, Findings


def figures(found: Findings) -> dict[str, Figure]:
    """Figures by file name: the ensembles, gains, correlations, components and dimension studies, where available."""
    drawn = {"main": _ensembles(found)}
    if found.gains():
        drawn["gains"] = _gains(found)
    if any(run.correlations for run in found.runs):
        drawn["correlations"] = _correlations(found)
    if any(run.components for run in found.runs):
        drawn["components"] = _components(found)
    for space, studies in itertools.groupby(found.dimension_studies(), lambda study: study.space):
        for number, study in enumerate(studies):
            drawn[f"dimensions_{space}" + (f"_{number + 1}" if number else "")] = _dimensions(study)
    return drawn


def _ensembles(found: Findings) -> Figure:
    """Mean mAP of every ensemble, with its standard deviation and its single runs."""
    ensembles = found.ensembles()
    figure = blank_figure(9, 0.4 * len(ensembles) + 1.2)
    axes = figure.subplots()
    for row, (_, one) in enumerate(ensembles):
        spread = one.spread("map")
        axes.errorbar(spread.mean, row, xerr=0 if spread.runs == 1 else spread.std, fmt="o", color="#4c72b0", capsize=3)
        axes.plot(one.figures["map"], [row] * spread.runs, ".", color="#9a9a9a", markersize=4)
    axes.set_yticks(range(len(ensembles)), [f"{one.name} [{scoring}]" for scoring, one in ensembles], fontsize=8)
    axes.set_ylim(len(ensembles) - 0.5, -0.5)
    name_axes(axes, "mean mAP, % (mean ± standard deviation over seeds)", "", found.data)
    return figure


def _gains(found: Findings) -> Figure:
    """Gain of two spaces over the better one against their correlation: runs, means and standard deviations."""
    figure = blank_figure(11, 4.5)
    for axes, metric in zip(figure.subplots(1, 2), TESTED, strict=True):
        for number, one in enumerate(found.gains()):
            spread, colour = one.gained.spread(metric), f"C{number % 10}"
            axes.plot(one.correlation, one.gained.figures[metric], ".", color=colour, markersize=4, alpha=0.5)
            bar = 0 if spread.runs == 1 else spread.std
            place = float(np.mean(one.correlation))
            axes.errorbar(place, spread.mean, yerr=bar, fmt="o", color=colour, capsize=3, label=one.way)
        axes.axhline(0, color="#9a9a9a", linewidth=0.8)
        heading = {"map": "mean mAP", "sum_r": "SumR"}[metric]
        name_axes(axes, "mean canonical correlation, held out", f"gain in {heading}, %", "two spaces − the better one")
    axes.legend(fontsize=7)
    return figure


def _correlations(found: Findings) -> Figure:
    """Figure 4.5, captions and videos: the mean curve of each way of training, fitted and held out."""
    figure = blank_figure(12, 4.5)
    for axes, side in zip(figure.subplots(1, 2, sharey=True), ("captions", "videos"), strict=True):
        for number, way in enumerate(dict.fromkeys(run.way for run in found.runs if run.correlations)):
            curves = [c for run in found.runs if run.way == way for c in run.correlations if c.side == side]
            shortest = min(len(curve.fitted) for curve in curves)
            for values, style, label in (
                ([curve.fitted[:shortest] for curve in curves], "-", way),
                ([curve.held_out[:shortest] for curve in curves], "--", None),
            ):
                axes.plot(range(1, shortest + 1), np.mean(values, axis=0), style, color=f"C{number % 10}", label=label)
        name_axes(axes, "canonical pair", "correlation", f"{side}: fitted (lines) and held out (dashes)")
        axes.legend(fontsize=7)
    return figure


def _components(found: Findings) -> Figure:
    """Figure 4.4: normalised variances, and mAP after keeping the first components."""
    figure = blank_figure(12, 4.5)
    left, right = figure.subplots(1, 2)
    for run in found.runs:
        curve = run.components
        if curve is None:
            continue
        left.plot(range(1, curve.dim + 1), curve.normalised_variances, label=run.way)
        right.plot(list(curve.precision), [100 * v for v in curve.precision.values()], marker=".", label=run.way)
    left.set(xscale="log", yscale="log")
    right.set_xscale("log", base=2)
    name_axes(left, "component", "share of the variance", "latent space: normalised variances")
    name_axes(right, "components kept", "mean mAP, %", "retrieval with the first components")
    right.legend(fontsize=7)
    return figure


def _dimensions(study: DimensionStudy) -> Figure:
    """Figures 4.1 to 4.3: mAP, SumR and R@1 of both directions against the dimension, with the stable region."""
    figure = blank_figure(17, 4.2)
    left, middle, right = figure.subplots(1, 3)
    drawn: list[tuple[Axes, str, dict[str, tuple[float, ...]]]] = [
        (left, "mean mAP, %", {"": study.map}),
        (middle, "SumR", {"": study.sum_r}),
        (right, "R@1, %", {"text → video": study.t2v_r1, "video → text": study.v2t_r1}),
    ]
    for axes, name, curves in drawn:
        for colour, (label, values) in zip(("#4c72b0", "#c44e52"), curves.items(), strict=False):
            axes.plot(study.dims, values, "o", markersize=4, color=colour, label=label)
        if len(curves) > 1:
            axes.legend(fontsize=8)
        axes.axvspan(study.stable.low, study.stable.high, color="#55a868", alpha=0.15, linewidth=0)
        axes.set_xscale("log", base=2)
        name_axes(
            axes,
            "dimensions",
            name,
            f"{study.space} space alone{study.settings}; stable from {study.stable.low} to {study.stable.high}",
        )
    left.axhline(study.stable.figure.mean, color="#55a868", linewidth=1)
    return figure
