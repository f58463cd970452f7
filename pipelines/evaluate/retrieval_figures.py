"""The metrics of a retrieval evaluation as tables, as JSON, and as a run of the experiment."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Literal

from rich.table import Table
from rich.text import Text

from pipelines.report.figures import Printed, page
from pipelines.report.logged_run import EvaluatedSet, log_evaluation
from vtr_core.data.manifest import Manifest
from vtr_core.embedding.rankings import Direction, Protocol, metric_values
from vtr_core.metrics.intervals import wilson_interval
from vtr_core.metrics.ranking import RetrievalMetrics
from vtr_core.train.checkpoint.trained_model import LoadedModel

PLAIN = "plain"
RELEVANT: Mapping[str, str] = MappingProxyType(
    {
        "own": "a query's own clip is right, another one with the same caption is not",
        "same-caption": "every item with the query's caption is right; the rank is that of the best one",
    }
)
"""What is said of each protocol of relevance."""


@dataclass(frozen=True)
class Variant:
    """Metrics under one similarity, or in one of several spaces.

    `name` is "plain" for retrieval without modifications; other variants have a title and a remark.
    """

    similarity: str
    name: str
    title: str
    remark: str
    directions: list[Direction]


@dataclass(frozen=True)
class Result:
    """The metrics of one data set."""

    name: str
    manifest: Manifest
    similarity: str
    """The main similarity, whose metrics have the plain names."""
    variants: Sequence[Variant]
    protocol: Protocol | None = None
    """The similarities of training, of the choice of a checkpoint and of the plain metrics; None for several spaces."""
    relevant: Literal["own", "same-caption"] = "own"
    """Which items are right for a query, as `vtr evaluate --relevant` has it."""

    @property
    def directions(self) -> list[Direction]:
        """The plain metrics under the main similarity."""
        return self.variants[0].directions

    def metrics(self) -> dict[str, float]:
        """The metrics of all variants by name."""
        values: dict[str, float] = {}
        for variant in self.variants:
            values.update(metric_values(variant.directions, self.prefix(variant)))
        return values

    def prefix(self, variant: Variant) -> str:
        """The prefix of a variant's metric names: `test/<set>[/<similarity>][/<variant>]`."""
        parts = ["test", self.name]
        parts += [variant.similarity] if variant.similarity != self.similarity else []
        parts += [variant.name] if variant.name != PLAIN else []
        return "/".join(parts)


def printed(result: Result, checkpoint: str) -> list[Printed]:
    """A table for each similarity, with chance; and remarks."""
    similarities = dict.fromkeys(variant.similarity for variant in result.variants)
    parts: list[Printed] = []
    for similarity in similarities:
        parts += [f"{result.name}: {checkpoint}, {similarity} similarity", _table(result, similarity)]
    remarks = {variant.title: variant.remark for variant in result.variants if variant.remark}
    parts += [f"  {title}: {remark}" for title, remark in remarks.items()]
    parts += [] if result.protocol is None else [f"  similarities: {result.protocol}"]
    parts.append(f"  relevant ({result.relevant}): {RELEVANT[result.relevant]}")
    for direction in result.directions:
        if direction.num_unanswerable:
            counts = f"{direction.num_unanswerable} of {direction.metrics.num_queries} queries"
            parts.append(f"  {direction.title}: {counts} have no item to find or no known word; they count as failures")
    return parts


def _table(result: Result, similarity: str) -> Table:
    """The directions of one similarity; it fits into a terminal of 80 columns."""
    table = Table(padding=(0, 0, 0, 1))
    for column in ("", "queries", "items", "R@1", "R@5", "R@10", "MedR", "MeanR", "mAP", "tied"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for variant in result.variants:
        if variant.similarity != similarity:
            continue
        if variant.title:
            table.add_section()
            table.add_row(Text(variant.title, style="italic"))
        for direction in variant.directions:
            _add_rows(table, direction)
    return table


def _add_rows(table: Table, direction: Direction) -> None:
    figures = direction.metrics
    counts = (str(figures.num_queries), str(figures.num_items))
    table.add_row(direction.title, *counts, *_cells(figures), str(figures.num_tied))
    table.add_row("  chance", "", "", *_cells(direction.chance), "")


def _cells(metrics: RetrievalMetrics) -> list[str]:
    recalls = [f"{100 * metrics.recall[k]:.1f}" for k in (1, 5, 10)]
    return [*recalls, f"{metrics.median_rank:.1f}", f"{metrics.mean_rank:.1f}", f"{metrics.mean_average_precision:.3f}"]


def log(
    experiment: str,
    loaded: LoadedModel,
    results: Sequence[Result],
    settings: Mapping[str, object],
    out: str | None,
) -> None:
    """The file `out`, and one run of the experiment, with the metrics of every variant of every data set."""
    sets = [EvaluatedSet(result.name, result.manifest, result.metrics()) for result in results]
    tables = page([part for result in results for part in printed(result, loaded.uri)])
    log_evaluation(experiment, loaded, sets, settings, as_json(results), tables, out)


def as_json(results: Sequence[Result]) -> dict[str, object]:
    """All results as JSON: by data set, the plain metrics under the main similarity, and all variants."""
    return {
        "similarity": results[0].similarity,
        **({} if results[0].protocol is None else results[0].protocol.flat()),
        "sets": {
            result.name: {
                "data": result.manifest.uri,
                "fingerprint": result.manifest.fingerprint,
                "relevant": result.relevant,
                "directions": _directions(result.directions),
                "variants": [
                    {
                        "similarity": variant.similarity,
                        "variant": variant.name,
                        "remark": variant.remark,
                        "metrics": result.prefix(variant),
                        "directions": _directions(variant.directions),
                    }
                    for variant in result.variants
                ],
            }
            for result in results
        },
    }


def _directions(directions: Sequence[Direction]) -> dict[str, object]:
    return {
        d.name: {"metrics": asdict(d.metrics), "chance": asdict(d.chance), "unanswerable": d.num_unanswerable}
        for d in directions
    }


def intervals(directions: Sequence[Direction]) -> str:
    """The intervals of the recalls of a sample of queries, in percent."""
    lines = []
    for direction in directions:
        figures = direction.metrics
        ends = {k: wilson_interval(recall, figures.num_queries) for k, recall in figures.recall.items()}
        spans = ", ".join(f"R@{k} {100 * low:.1f} to {100 * high:.1f}" for k, (low, high) in ends.items())
        lines.append(f"{direction.title} {spans}")
    return f"95 % intervals: {'; '.join(lines)}"
