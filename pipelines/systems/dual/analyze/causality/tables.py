"""The tables that `vtr analyze causality` prints."""

from rich.table import Table

from pipelines.report.blank_table import blank_table
from pipelines.report.printed_page import Printed
from vtr_core.analysis.calibration import Calibration
from vtr_core.analysis.transform_objective import Measured
from vtr_core.analysis.transforms import Transform
from pipelines.systems.dual.analyze.causality.findings import DetectorFindings, Findings, SearchFindings
from pipelines.systems.dual.analyze.matched_figures import FIGURES, HEADS

_FRONT_ROWS, _NAMES_SHOWN = 12, 20


def printed(found: Findings) -> list[Printed]:
    """The tables: the search with its Pareto front, the test metrics, causality by pair set, and the detectors."""
    search = found.search
    parts: list[Printed] = [_figures(found), _pair_sets(found), _front(search)]
    parts.append(
        f"  search on {search.videos} videos and {search.captions} captions of the validation data: "
        f"{len(search.measured)} transforms in {search.seconds:.1f} s ({search.kind}, mAP by {search.score} score, "
        f"tolerance {100 * search.tolerance:g} points of mAP)"
    )
    parts += [f"  {name}: {count} captions and videos left out" for name, count in found.left_out.items() if count]
    if found.detectors is not None:
        parts.append(_detectors(found.detectors))
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


def _pair_sets(found: Findings) -> Table:
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


def _detectors(found: DetectorFindings) -> Table:
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
