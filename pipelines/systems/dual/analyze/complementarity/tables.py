"""The tables that `vtr analyze complementarity` prints."""

import math
from statistics import fmean

from rich.box import HORIZONTALS
from rich.table import Table

from pipelines.report.blank_table import blank_table
from pipelines.report.printed_page import Printed
from vtr_core.analysis.ensembles import Spread
from pipelines.systems.dual.analyze.complementarity.findings import TESTED, DimensionStudy, Findings
from pipelines.systems.dual.analyze.matched_figures import FIGURES, HEADS


def printed(found: Findings) -> list[Printed]:
    """The tables: Table 4.1, its tests, gains, canonical correlations, principal components, and dimension studies."""
    parts: list[Printed] = [_ensembles(found)]
    if any(True for _ in found.differences()):
        parts.append(_differences(found))
    else:
        parts.append("  no two ways of training have two runs each: nothing can be tested; give more seeds")
    if found.gains():
        parts.append(_gains(found))
    if any(run.correlations for run in found.runs):
        parts.append(_correlations(found))
    if any(run.components for run in found.runs):
        parts.append(_components(found))
    parts += [_dimensions(study) for study in found.dimension_studies()]
    return parts


def spread_text(spread: Spread) -> str:
    """Mean ± standard deviation, or the mean of a single run."""
    return f"{spread.mean:.2f}" if math.isnan(spread.std) else f"{spread.mean:.2f} ± {spread.std:.2f}"


def _ensembles(found: Findings) -> Table:
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


def _gains(found: Findings) -> Table:
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


def _correlations(found: Findings) -> Table:
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


def _components(found: Findings) -> Table:
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


def _dimensions(study: DimensionStudy) -> Table:
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
