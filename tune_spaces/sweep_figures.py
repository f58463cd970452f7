"""Figures of a sweep as SVG, and the importance of each setting, by the variance that it explains alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from scipy.stats import rankdata

from vtr_core.config.domains import Choice, Domain, Value, Variant, at, levels, share_of
from vtr_core.config.search_space import Point, Space

FEWEST = 4
"""Minimum number of trials for an importance."""


@dataclass(frozen=True)
class Importance:
    """The importance of one setting."""

    name: str
    share: float
    """Explained share of the variance, in [0, 1]."""
    num_trials: int
    """Number of trials in which the setting is active."""


def importances(space: Space, points: Sequence[Point], objectives: Sequence[float]) -> list[Importance]:
    """The importance of every setting, the largest first.

    Objectives are replaced by their ranks among the trials that have the setting (ties share the mean rank). For a
    number the importance is Spearman's ρ² between setting and objective, for a choice the correlation ratio η² =
    variance of the choices' mean ranks, weighted by trials / variance of all ranks. Joint effects are not measured, and
    η² of many choices is large by chance. Settings with fewer than 4 trials or a single value are left out.
    """
    found = []
    for name, parameter in space.parameters.items():
        pairs = [(point[name], value) for point, value in zip(points, objectives, strict=True) if name in point]
        if len(pairs) >= FEWEST and len({value for value, _ in pairs}) > 1:
            found.append(Importance(name, _share(parameter.domain, pairs), len(pairs)))
    return sorted(found, key=lambda one: -one.share)


def _share(domain: Domain, pairs: Sequence[tuple[Value, float]]) -> float:
    ranks = rankdata([objective for _, objective in pairs])
    if np.ptp(ranks) == 0:
        return 0.0
    if isinstance(domain, (Choice, Variant)):
        return _correlation_ratio([str(value) for value, _ in pairs], ranks)
    settings = rankdata([float(value or 0) for value, _ in pairs])
    return float(np.corrcoef(settings, ranks)[0, 1] ** 2)


def _correlation_ratio(groups: Sequence[str], values: np.ndarray) -> float:
    labels = np.array(groups)
    means = np.array([values[labels == label].mean() for label in groups])
    return float(means.var() / values.var())


def pareto_front(objectives: Sequence[float], costs: Sequence[float]) -> list[int]:
    """Indices of the Pareto-optimal trials, ascending by cost: no other trial has a larger objective at no larger cost,
    or an equal one at a smaller cost. Of equal trials all are included.
    """
    front = [
        i
        for i in range(len(objectives))
        if not any(
            objectives[j] >= objectives[i]
            and costs[j] <= costs[i]
            and (objectives[j] > objectives[i] or costs[j] < costs[i])
            for j in range(len(objectives))
        )
    ]
    return sorted(front, key=lambda i: (costs[i], objectives[i]))


_HEIGHT, _TOP, _LEFT, _COLUMN = 420, 80, 90, 150
_LOW, _HIGH = (196, 209, 224), (176, 58, 46)
"""Colours of the worst and the best trial."""


@dataclass(frozen=True)
class Scored:
    """A trial in a figure."""

    name: str
    point: Point
    objective: float
    weights: int


def parallel_coordinates(space: Space, trials: Sequence[Scored], metric: str) -> str:
    """Parallel coordinates: a line for each trial through its settings to its objective; red is better. Where a setting
    is inactive in a trial the line passes below the axis.
    """
    names = [name for name in space.parameters if any(name in trial.point for trial in trials)]
    low, high = min(t.objective for t in trials), max(t.objective for t in trials)
    axes = [_axis(i, name, space.parameters[name].domain) for i, name in enumerate(names)]
    end = len(names)
    axes.append(_line_axis(end, metric) + _label(end, 0.0, f"{low:.3g}") + _label(end, 1.0, f"{high:.3g}"))
    lines = []
    for trial in sorted(trials, key=lambda t: t.objective):
        share = (trial.objective - low) / (high - low) if high > low else 1.0
        places = [
            (_x(i), _y(share_of(space.parameters[n].domain, trial.point[n])) if n in trial.point else _y(-0.1))
            for i, n in enumerate(names)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*places, (_x(end), _y(share))])
        lines.append(
            f'<polyline points="{path}" fill="none" stroke="{_colour(share)}" stroke-width="{1 + 1.5 * share:.1f}">'
            f"<title>{escape(f'trial {trial.name}: {trial.objective:.4g}')}</title></polyline>"
        )
    width = _LEFT + end * _COLUMN + 110
    return _svg(width, _HEIGHT + 30, f"{len(trials)} trials of {space.name}", [*axes, *lines])


def importance_bars(found: Sequence[Importance], name: str) -> str:
    """Bar chart of importances, a bar for each setting."""
    bars = []
    for i, one in enumerate(found):
        y = 70 + 30 * i
        bars.append(
            _text(200, y + 14, one.name, "end")
            + f'<rect x="210" y="{y}" width="{max(1.0, 400 * one.share):.1f}" height="18" fill="{_colour(1.0)}"/>'
            + _text(218 + 400 * one.share, y + 14, f"{one.share:.2f}  ({one.num_trials} trials)")
        )
    note = "Each setting by itself: Spearman's ρ² of numbers, correlation ratio η² of choices, on ranks."
    height = 100 + 30 * len(found)
    return _svg(760, height, f"What accounts for the differences in {name}", [*bars, _text(20, height - 12, note)])


def pareto(trials: Sequence[Scored], metric: str) -> str:
    """Scatter plot of objective against number of weights; the Pareto front is red and joined."""
    front = pareto_front([t.objective for t in trials], [float(t.weights) for t in trials])
    xs, ys = [t.weights for t in trials], [t.objective for t in trials]

    def place(trial: Scored) -> tuple[float, float]:
        return 80 + 560 * _figures_share(trial.weights, xs), 360 - 280 * _figures_share(trial.objective, ys)

    dots = []
    for i, trial in enumerate(trials):
        x, y = place(trial)
        dots.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{_colour(1.0 if i in front else 0.0)}" stroke="#666">'
            f"<title>{escape(f'trial {trial.name}: {trial.objective:.4g}, {trial.weights:,} weights')}</title></circle>"
            + (_text(x + 8, y - 6, trial.name) if i in front else "")
        )
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(trials[i]) for i in front))
    frame = (
        '<path d="M80 60V360H660" fill="none" stroke="#444"/>'
        + _text(80, 380, f"{min(xs):,}")
        + _text(640, 380, f"{max(xs):,} weights", "end")
        + _text(74, 364, f"{min(ys):.3g}", "end")
        + _text(74, 84, f"{max(ys):.3g}", "end")
    )
    line = f'<polyline points="{path}" fill="none" stroke="{_colour(1.0)}"/>'
    return _svg(720, 410, f"{metric} against size", [frame, line, *dots])


def _axis(index: int, name: str, domain: Domain) -> str:
    ticks = ""
    if isinstance(domain, (Choice, Variant)):
        for value in levels(domain, 2):
            ticks += _label(index, share_of(domain, value), str(value))
    else:
        ticks = "".join(_label(index, share, f"{float(at(domain, share) or 0):.3g}") for share in (0.0, 0.5, 1.0))
    return _line_axis(index, name) + ticks


def _line_axis(index: int, name: str) -> str:
    x = _x(index)
    short = name.removeprefix("model.").removeprefix("optimizer.")
    return f'<path d="M{x} {_y(0)}V{_y(1)}" stroke="#444"/>' + _text(x, _TOP - 18, short, "middle")


def _label(index: int, share: float, text: str) -> str:
    return _text(_x(index) - 6, _y(share) + 4, text, "end")


def _x(index: int) -> float:
    return _LEFT + index * _COLUMN


def _y(share: float) -> float:
    return _HEIGHT - 30 - share * (_HEIGHT - 30 - _TOP)


def _figures_share(value: float, values: Sequence[float]) -> float:
    low, high = min(values), max(values)
    return (value - low) / (high - low) if high > low else 0.5


def _colour(share: float) -> str:
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(_LOW, _HIGH, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}">'
    style = "<style>text{font:12px sans-serif;fill:#222}.title{font-size:15px}</style>"
    back = f'<rect width="{width:g}" height="{height:g}" fill="white"/>'
    name = f'<text class="title" x="20" y="28">{escape(title)}</text>'
    return "\n".join([head, style, back, name, *parts, "</svg>", ""])
