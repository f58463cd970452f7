"""Columns of metrics, and names of the evaluated spaces, that several tables of the thesis have."""

from vtr_core.tables.table import Column

SET = "msrvtt"


def figure(metric: str, heading: str, digits: int = 1) -> Column:
    """A metric on MSR-VTT; `{direction}` in its name is filled in with the way of a row."""
    return Column(SET, f"{{direction}}/{metric}", heading, digits)


_RETRIEVAL = tuple(
    figure(f"{way}_{metric}", f"{way} {heading}")
    for way in ("t2v", "v2t")
    for metric, heading in (("r1", "R@1"), ("r5", "R@5"), ("r10", "R@10"), ("medr", "MedR"), ("map", "mAP"))
)


SUM_R = figure("sum_r", "SumR")


FIGURES = (*_RETRIEVAL, SUM_R)


BOTH, CONCEPT, LATENT = "two spaces", "concept", "latent"
