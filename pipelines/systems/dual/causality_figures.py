"""The figures and the printed tables of `vtr analyze causality`."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from pipelines.report.bar_figure import blank_figure, name_axes
from pipelines.report.printed_page import Printed, blank_table
from pipelines.systems.dual.analysed_set import FIGURES, HEADS
from pipelines.systems.dual.causality_findings import BINS, DetectorFindings, Findings, SearchFindings, SplitReport
from vtr_core.analysis.causality import CausalityCurves
from vtr_core.analysis.concept_detectors import Calibration
from vtr_core.analysis.transform_search import Measured
from vtr_core.analysis.transforms import Transform

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


_FRONT_ROWS, _NAMES_SHOWN = 12, 20


def printed(found: Findings) -> list[Printed]:
    """The tables: the search with its Pareto front, the test metrics, causality by pair set, and the detectors."""
    search = found.search
    parts: list[Printed] = [_figures(found), _tables_pair_sets(found), _front(search)]
    parts.append(
        f"  search on {search.videos} videos and {search.captions} captions of the validation data: "
        f"{len(search.measured)} transforms in {search.seconds:.1f} s ({search.kind}, mAP by {search.score} score, "
        f"tolerance {100 * search.tolerance:g} points of mAP)"
    )
    parts += [f"  {name}: {count} captions and videos left out" for name, count in found.left_out.items() if count]
    if found.detectors is not None:
        parts.append(_tables_detectors(found.detectors))
        parts += _fates(found.detectors)
    return parts


def shown(transform: Transform) -> str:
    """The parameters (p, a, b) as short text."""
    scale = "n/a" if transform.similarity == "cosine" else f"{transform.scale:.3g}"
    return f"p {transform.power:.3g}  a {scale}  b {transform.shift:.3g}"


def _figures(found: Findings) -> Table:
    table = blank_table(f"{found.test}: {found.checkpoint}, in percent", "", *HEADS, "C@10", "C@30")
    for one in found.inferences:
        values = one.figures.values()
        causality = [100 * mean for mean, _ in one.causality.values()]
        table.add_row(one.name, *(f"{value:.1f}" for value in [*(values[name] for name in FIGURES), *causality]))
    return table


def _tables_pair_sets(found: Findings) -> Table:
    table = blank_table(
        "causality of the concepts by pair set, mean ± standard deviation in percent",
        "", "pairs", "original C@10", "C@30", "improved C@10", "C@30",
    )  # fmt: skip
    for name, original in found.curves["original"].items():
        improved = found.curves["improved"][name]
        cells = [curves.at(k) for curves in (original, improved) for k in (10, 30)]
        table.add_row(name, str(original.num_pairs), *(f"{100 * mean:.1f} ± {100 * std:.1f}" for mean, std in cells))
    return table


def _front(search: SearchFindings) -> Table:
    table = blank_table(
        "validation data, in percent: what a transform costs and brings", "", "transform", "mAP", "C@10"
    )
    table.add_row("as trained", *_measured(search.start))
    table.add_row("taken", *_measured(search.best))
    for name, wider in search.wider.results().items():
        table.add_row(name, *_measured(wider))
    table.add_section()
    step = max(1, -(-len(search.front) // _FRONT_ROWS))
    for number, one in enumerate(search.front[::step]):
        table.add_row("" if number else "Pareto front", *_measured(one))
    return table


def _measured(one: Measured) -> tuple[str, str, str]:
    return shown(one.transform), f"{100 * one.accuracy:.2f}", f"{100 * one.causality:.1f}"


def _tables_detectors(found: DetectorFindings) -> Table:
    labels = ("side", "mAP", "chance", "detection %", "labels %", "tags on", "tags", "ECE")
    table = blank_table("concept detectors", "", *labels, "improved detection %", "tags on", "ECE")
    for split in found.splits:
        for side in (split.text, split.video):
            tags, one = side.tags, side.original
            table.add_row(
                split.name,
                side.side,
                f"{tags.mean:.3f}",
                f"{tags.chance:.3f}",
                f"{100 * one.mean_detection:.1f}",
                f"{100 * one.expected_detection:.1f}",
                f"{one.tags_on:.1f}",
                f"{one.expected_tags:.1f}",
                f"{one.calibration_error:.3f}",
                *_improved(side.improved),
            )
    return table


def _improved(one: Calibration | None) -> tuple[str, ...]:
    if one is None:
        return ("", "", "")
    return f"{100 * one.mean_detection:.1f}", f"{one.tags_on:.1f}", f"{one.calibration_error:.3f}"


def _fates(found: DetectorFindings) -> list[str]:
    if found.fates is None:
        return ["  give --train to see which detectors failed to learn even on the training data"]
    lines = []
    for fate, names in found.fates.items():
        some = ", ".join(names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")
        lines.append(f"  video detectors, {fate}: {len(names)}{': ' + some if names else ''}")
    return lines
