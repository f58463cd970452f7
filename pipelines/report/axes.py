"""Empty figures and axis labels of the analyses."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure


def blank_figure(width: float, height: float) -> Figure:
    """An empty figure of the given size in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def name_axes(axes: Axes, x: str, y: str, title: str) -> None:
    """Set labels and title, which is not parsed as mathematics."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, parse_math=False, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
