"""The figures and the printed tables of `vtr analyze complementarity`."""

import itertools
import math
from statistics import fmean

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.box import HORIZONTALS
from rich.table import Table

from pipelines.report.bar_figure import blank_figure, name_axes
from pipelines.report.printed_page import Printed, blank_table
from pipelines.systems.dual.analysed_set import FIGURES, HEADS
from pipelines.systems.dual.complementarity_findings import TESTED, DimensionStudy, Findings
from vtr_core.analysis.ensembles import Spread


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


def printed(found: Findings) -> list[Printed]:
    """The tables: Table 4.1, its tests, gains, canonical correlations, principal components, and dimension studies."""
    parts: list[Printed] = [_tables_ensembles(found)]
    if any(True for _ in found.differences()):
        parts.append(_differences(found))
    else:
        parts.append("  no two ways of training have two runs each: nothing can be tested; give more seeds")
    if found.gains():
        parts.append(_tables_gains(found))
    if any(run.correlations for run in found.runs):
        parts.append(_tables_correlations(found))
    if any(run.components for run in found.runs):
        parts.append(_tables_components(found))
    parts += [_tables_dimensions(study) for study in found.dimension_studies()]
    return parts


def spread_text(spread: Spread) -> str:
    """Mean ± standard deviation, or the mean of a single run."""
    return f"{spread.mean:.2f}" if math.isnan(spread.std) else f"{spread.mean:.2f} ± {spread.std:.2f}"


def _tables_ensembles(found: Findings) -> Table:
    """A line per ensemble, with the standard deviations of mAP and SumR only and without rules, for lack of width."""
    table = blank_table(
        f"{found.data}: evaluation on a single space, then on two spaces; in percent", "", "runs", *HEADS
    )
    table.box = HORIZONTALS
    scoring_before = None
    for scoring, one in found.ensembles():
        if scoring != scoring_before:
            table.add_section()
        scoring_before = scoring
        cells = [
            spread_text(one.spread(name)) if name in ("sum_r", "map") else f"{one.spread(name).mean:.1f}"
            for name in FIGURES
        ]
        table.add_row(f"{one.name} [{scoring}]", str(one.spread("map").runs), *cells)
    return table


def _differences(found: Findings) -> Table:
    table = blank_table(
        "two-sided tests of the differences between ways of training (Welch's t is the one to believe with few seeds)",
        "", "figure", "first − second", "z", "p (Z-test)", "p (Welch)",
    )  # fmt: skip
    for scoring, figure, first, second, test in found.differences():
        table.add_row(
            f"{first} − {second} [{scoring}]",
            {"map": "mAP", "sum_r": "SumR"}[figure],
            f"{test.difference:+.2f}",
            f"{test.z:.2f}",
            f"{test.p_value:.4f}",
            f"{test.welch_p_value:.4f}",
        )
    return table


def _tables_gains(found: Findings) -> Table:
    """The complementarity of the ensembles: what the second space adds, beside the correlation of the spaces."""
    table = blank_table(
        "two spaces over the better one of them, mean ± standard deviation of the differences by run, in percent",
        "", "runs", "better space mAP", "two spaces", "SumR", "two spaces", "correlation, held out",
    )  # fmt: skip
    for one in found.gains():
        values = [part.spread(name) for name in TESTED for part in (one.better, one.gained)]
        shown = [
            ("+" if spread.mean >= 0 and number % 2 else "") + spread_text(spread)
            for number, spread in enumerate(values)
        ]
        table.add_row(one.way, str(values[0].runs), *shown, f"{fmean(one.correlation):.3f}")
    return table


def _tables_correlations(found: Findings) -> Table:
    table = blank_table(
        "canonical correlations between the spaces: mean of the top ones",
        "", "side", "samples", "pairs", "fitted", "held out", "held out > 0.5",
    )  # fmt: skip
    for run in found.runs:
        for curve in run.correlations:
            table.add_row(
                run.way,
                curve.side,
                str(curve.samples),
                str(len(curve.fitted)),
                f"{curve.fitted.mean():.3f}",
                f"{curve.held_out.mean():.3f}",
                str(int((curve.held_out > 0.5).sum())),
            )
    return table


def _tables_components(found: Findings) -> Table:
    table = blank_table(
        "principal components of the latent spaces",
        "", "dimensions", "for 90 % of the variance", "for 99 %", "mAP, all", "mAP, best", "with components",
    )  # fmt: skip
    for run in found.runs:
        curve = run.components
        if curve is None:
            continue
        summed = curve.normalised_variances.cumsum()
        best = max(curve.precision, key=lambda kept: curve.precision[kept])
        table.add_row(
            run.way,
            str(curve.dim),
            *(str(min(curve.dim, int((summed < share).sum()) + 1)) for share in (0.9, 0.99)),
            f"{100 * curve.precision[curve.dim]:.2f}",
            f"{100 * curve.precision[best]:.2f}",
            str(best),
        )
    return table


def _tables_dimensions(study: DimensionStudy) -> Table:
    stable = study.stable
    table = blank_table(
        f"{study.space} space alone by dimension{study.settings}; stable from {stable.low} to {stable.high}: "
        f"mAP {spread_text(stable.figure)}",
        "dimensions", "mAP", "SumR", "t2v R@1", "v2t R@1",
    )  # fmt: skip
    rows = zip(study.dims, study.map, study.sum_r, study.t2v_r1, study.v2t_r1, strict=True)
    for dim, precision, *recalls in sorted(rows):
        table.add_row(str(dim), f"{precision:.2f}", *(f"{recall:.1f}" for recall in recalls))
    return table
