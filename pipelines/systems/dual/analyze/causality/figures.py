"""The figures of `vtr analyze causality`."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from pipelines.report.axes import blank_figure, name_axes
from vtr_core.analysis.causality import CausalityCurves
from vtr_core.analysis.transform_objective import Measured
from pipelines.systems.dual.analyze.causality.detectors import BINS, SplitReport
from pipelines.systems.dual.analyze.causality.findings import DetectorFindings, Findings, SearchFindings

_COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860")
_ORIGINAL, _IMPROVED, _GREY = "#4c72b0", "#c44e52", "#9a9a9a"


def figures(found: Findings) -> dict[str, Figure]:
    """Figures by file name: causality curves by pair set, their change, the search, top-k scoring, and the
    detectors.
    """
    drawn = {
        "main": _change(found),
        "pair_sets": _pair_sets(found),
        "search": _search(found.search),
        "parameters": _parameters(found.search),
        "top_k": _top_k(found),
        "sweeps": _sweeps(found),
        "top_k_sweep": _top_k_sweep(found),
    }
    if found.detectors is not None:
        drawn["detectors"] = _detectors(found.detectors.splits)
        if found.detectors.histograms:
            drawn["histograms"] = _histograms(found.detectors)
    return drawn


def _sweeps(found: Findings) -> Figure:
    """Figure 5.4: contributions by rank (falling) and cumulative (rising) over the matched pairs, for several values of
    each parameter, varied alone.
    """
    figure = blank_figure(5.5 * len(found.sweeps), 4.4)
    for place, (name, values) in enumerate(found.sweeps.items(), start=1):
        axes = figure.add_subplot(1, len(found.sweeps), place)
        beside = axes.twinx()
        for colour, (value, curves) in zip(_COLOURS, values.items(), strict=False):
            ranks = range(1, len(curves.cumulative_mean) + 1)
            axes.plot(ranks, 100 * curves.cumulative_mean, color=colour, label=f"{name} {value:g}", linewidth=1.2)
            beside.plot(ranks, 100 * curves.individual_mean, color=colour, linestyle=":", linewidth=1.2)
        axes.set(xscale="log", ylim=(0, 102))
        beside.set_ylabel("contribution of the concept (dotted), %")
        name_axes(axes, "strongest concepts", "causality, %", name)
        axes.legend(fontsize=8)
    return figure


def _top_k_sweep(found: Findings) -> Figure:
    """Figure 5.6: mAP from the k strongest concepts of each pair, for several values of a parameter."""
    name = next(iter(found.sweeps))
    figure = blank_figure(7, 4.2)
    axes = figure.subplots()
    for colour, (value, by_k) in zip(_COLOURS, found.top_k_sweep.items(), strict=False):
        shown = [100 * precision for precision in by_k.values()]
        axes.plot(list(by_k), shown, marker="o", markersize=4, color=colour, label=f"{name} {value:g}")
    axes.set(xscale="log", ylim=(0, None))
    name_axes(axes, "strongest concepts scored", "mean mAP, %", f"{found.test}: by {name}")
    axes.legend(fontsize=8)
    return figure


def _histograms(found: DetectorFindings) -> Figure:
    """Figure 5.10: detections of videos with and without a concept, for one concept of each fate, on every split."""
    splits = [split.name for split in found.splits]
    figure = blank_figure(4.2 * len(splits), 2.6 * len(found.histograms))
    edges = np.linspace(0, 1, BINS + 1)
    fate_of = {name: fate for fate, names in (found.fates or {}).items() for name in names}
    for row, (concept, by_split) in enumerate(found.histograms.items()):
        for column, split in enumerate(splits):
            axes = figure.add_subplot(len(found.histograms), len(splits), row * len(splits) + column + 1)
            one = by_split[split]
            for counts, colour, label in ((one.absent, _GREY, "without"), (one.present, _ORIGINAL, "with")):
                axes.stairs(counts / max(1, counts.sum()), edges, fill=True, color=colour, alpha=0.5, label=label)
            name_axes(axes, "detection", "share of videos", f"{concept} ({fate_of[concept]}), {split}")
            axes.legend(fontsize=7)
    return figure


def _pair_sets(found: Findings) -> Figure:
    """Figure 5.2: contributions by rank and cumulative, mean ± standard deviation, of the model as trained."""
    figure = blank_figure(12, 4.5)
    left, right = figure.subplots(1, 2)
    for colour, (name, curves) in zip(_COLOURS, found.curves["original"].items(), strict=True):
        ranks = range(1, len(curves.cumulative_mean) + 1)
        for axes, mean, std in (
            (left, curves.individual_mean, curves.individual_std),
            (right, curves.cumulative_mean, curves.cumulative_std),
        ):
            axes.plot(ranks, 100 * mean, color=colour, label=name, linewidth=1.2)
            axes.fill_between(ranks, 100 * (mean - std), 100 * (mean + std), color=colour, alpha=0.12, linewidth=0)
    name_axes(left, "rank of the concept within a pair", "contribution, %", "individual")
    name_axes(right, "number of strongest concepts", "causality, %", "cumulative")
    left.set_ylim(bottom=0)
    right.set(ylim=(0, 102))
    right.legend(fontsize=8, loc="lower right")
    return figure


def _change(found: Findings) -> Figure:
    """Figure 5.4: both curves over the matched pairs, original and improved, on a logarithmic axis."""
    figure = blank_figure(7, 4.5)
    axes = figure.subplots()
    for which, colour in (("original", _ORIGINAL), ("improved", _IMPROVED)):
        curves: CausalityCurves = found.curves[which]["matched"]
        ranks = range(1, len(curves.cumulative_mean) + 1)
        axes.plot(ranks, 100 * curves.cumulative_mean, color=colour, label=f"{which}, cumulative")
        axes.plot(ranks, 100 * curves.individual_mean, color=colour, linestyle=":", label=f"{which}, individual")
        for k in (10, 30):
            if k <= len(ranks):
                axes.annotate(
                    f"C@{k} {100 * curves.at(k)[0]:.1f}",
                    (k, 100 * curves.at(k)[0]),
                    textcoords="offset points",
                    xytext=(-4, 6),
                    ha="right",
                    fontsize=8,
                    color=colour,
                )
    axes.set(xscale="log", ylim=(0, 102))
    name_axes(axes, "number of strongest concepts", "%", f"{found.test}: causality of matched pairs")
    axes.legend(fontsize=8)
    return figure


def _search(search: SearchFindings) -> Figure:
    """All evaluated transforms, and the Pareto front of mAP against C@10."""
    figure = blank_figure(7, 4.8)
    axes = figure.subplots()
    axes.scatter(*_coordinates(search.measured), s=8, color=_GREY, alpha=0.6, label="measured", linewidths=0)
    axes.plot(*_coordinates(search.front), color="black", linewidth=1, marker=".", markersize=4, label="Pareto front")
    for name, one, colour in (("as trained", search.start, _ORIGINAL), ("taken", search.best, _IMPROVED)):
        axes.plot(*_coordinates([one]), "o", markersize=8, color=colour, label=name)
    name_axes(axes, "C@10 of matched pairs, %", "mean mAP, %", "validation data: accuracy against causality")
    axes.legend(fontsize=8, loc="lower left")
    return figure


def _coordinates(measured: Sequence[Measured]) -> tuple[list[float], list[float]]:
    return [100 * one.causality for one in measured], [100 * one.accuracy for one in measured]


def _parameters(search: SearchFindings) -> Figure:
    """Figure 5.5: mAP of all evaluated transforms against each parameter; redder is more causal."""
    figure = blank_figure(12, 4)
    row = figure.subplots(1, 3, sharey=True)
    shades = [100 * one.causality for one in search.measured]
    values = {
        "p (power)": [one.transform.power for one in search.measured],
        "a (scale)": [one.transform.scale for one in search.measured],
        "b (shift)": [one.transform.shift for one in search.measured],
    }
    for axes, (name, places) in zip(row, values.items(), strict=True):
        dots = axes.scatter(places, _coordinates(search.measured)[1], c=shades, cmap="coolwarm", s=10, linewidths=0)
        if name != "b (shift)":
            axes.set_xscale("log", base=2)
        name_axes(axes, name, "mean mAP, %" if axes is row[0] else "", "")
    figure.colorbar(dots, ax=row, label="C@10, %")
    return figure


def _top_k(found: Findings) -> Figure:
    """Figures 5.3 and 5.6: mAP when only the strongest concepts of each pair are scored."""
    figure = blank_figure(7, 4.2)
    axes = figure.subplots()
    for which, colour in (("original", _ORIGINAL), ("improved", _IMPROVED)):
        ks = list(found.top_k[which])
        axes.plot(ks, [100 * found.top_k[which][k] for k in ks], marker="o", markersize=4, color=colour, label=which)
    axes.set(xscale="log", ylim=(0, None))
    name_axes(axes, "strongest concepts scored", "mean mAP, %", f"{found.test}: similarity from the top k concepts")
    axes.legend(fontsize=8)
    return figure


def _detectors(splits: Sequence[SplitReport]) -> Figure:
    """Average precision of every concept's detector on each split, sorted, with the chance level."""
    figure = blank_figure(11, 4.2)
    for place, name in enumerate(("text", "video"), start=1):
        axes = figure.add_subplot(1, 2, place)
        for colour, split in zip(_COLOURS, splits, strict=False):
            tags = (split.text if name == "text" else split.video).tags
            kept = np.isfinite(tags.precision)
            order = np.argsort(-tags.precision[kept])
            ranks = np.arange(1, len(order) + 1)
            axes.plot(ranks, tags.precision[kept][order], color=colour, label=f"{split.name}: {tags.mean:.3f}")
            axes.plot(ranks, tags.prevalence[kept][order], ".", color=colour, alpha=0.3, markersize=2)
        axes.set(ylim=(0, 1.02))
        name_axes(axes, "concepts, best first", "average precision (dots: chance)", f"{name} detectors")
        axes.legend(fontsize=8)
    return figure
