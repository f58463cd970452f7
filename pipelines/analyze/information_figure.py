"""The paper's Figure 1: histograms of the information content of sentences and of videos."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from pipelines.analyze.information_findings import InformationFindings
from pipelines.report.axes import blank_figure, name_axes


def information_figure(found: Sequence[InformationFindings]) -> Figure:
    """Histograms of sentences (left) and videos (right), one row for each reading."""
    figure = blank_figure(11, 3.0 * len(found))
    places = figure.subplots(len(found), 2, squeeze=False)
    for row, one in zip(places, found, strict=True):
        for axes, name, spread in zip(row, ("sentences", "videos"), (one.sentences, one.by_video), strict=True):
            width = 0.9 * min((b - a for a, b in zip(spread.bins, spread.bins[1:], strict=False)), default=0.1)
            axes.bar(spread.bins, spread.counts, width=width, color="#4c72b0")
            axes.axvline(spread.mean, color="#c44e52", linewidth=1)
            name_axes(axes, f"information content, {one.reading}", "number", f"{name}, the mean in red")
    return figure
