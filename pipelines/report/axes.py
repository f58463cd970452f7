"""Figures of the analyses: an empty one, and axes that say what they show."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure


def blank_figure(width: float, height: float) -> Figure:
    """An empty figure of the given size in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def name_axes(axes: Axes, x: str, y: str, title: str) -> None:
    """Say what the axes show; the title is no mathematics, whatever it holds."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, parse_math=False, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
