"""The tables of MUSE (Tang et al. 2025): its ablations, 4 to 8 and 11, and those of whole systems."""

from pipelines.systems.muse.tables.compared import TABLE_1, TABLE_2, TABLE_3, TABLE_9, TABLE_10
from vtr_core.tables.table import Column, Paper, Row, Table

_RECALL = tuple(
    Column("msrvtt", f"t2v/{metric}", heading)
    for metric, heading in (("r1", "R@1"), ("r5", "R@5"), ("r10", "R@10"), ("meanr", "MeanR"))
)
_MEMORY = Column("benchmark", "memory", "memory")
_OURS = (44.8, 71.6, 82.1, 15.6)

TABLE_4 = Table(
    4,
    "video learners",
    (*_RECALL, _MEMORY),
    (
        Row("Transformer", (43.0, 71.1, 80.0, 16.3, 36.80), "transformer", direction="t2v"),
        Row("FlashAttention", (42.6, 69.3, 79.7, 16.3, 2.38), "flash", direction="t2v"),
        Row("MambaOut", (42.4, 70.2, 80.7, 15.4, 3.28), "mamba-out", direction="t2v"),
        Row("Mamba", (*_OURS, 3.40), "", direction="t2v"),
    ),
    relative_to="",
)
TABLE_5 = Table(
    5,
    "scans",
    _RECALL,
    (
        Row("none", (44.1, 71.7, 80.5, 14.4), "scan-none", direction="t2v"),
        Row("v1", (44.0, 71.0, 80.7, 14.9), "scan-v1", direction="t2v"),
        Row("v2", _OURS, "", direction="t2v"),
    ),
)
TABLE_6 = Table(
    6,
    "orders of the tokens",
    _RECALL,
    (
        Row("frame", (43.5, 70.6, 80.0, 15.2), "frame", direction="t2v"),
        Row("spatial", (44.4, 70.3, 80.9, 15.4), "spatial", direction="t2v"),
        Row("scale", _OURS, "scale", direction="t2v"),
    ),
)
TABLE_7 = Table(
    7,
    "scales",
    _RECALL,
    (
        Row("{1}", (43.6, 71.2, 81.8, 15.2), "scales-1", direction="t2v"),
        Row("{1, 3}", (44.0, 70.8, 81.2, 15.8), "scales-2", direction="t2v"),
        Row("{1, 3, 7}", (44.3, 71.8, 81.7, 15.9), "scales-3", direction="t2v"),
        Row("{1, 3, 7, 14}", _OURS, "scales-4", direction="t2v"),
        Row("{1, 3, 7, 14, 28}", (42.5, 71.4, 81.6, 15.1), "scales-5", direction="t2v"),
    ),
)
TABLE_8 = Table(
    8,
    "layers",
    _RECALL,
    (
        Row("L = 0, mean pooling", (42.6, 70.8, 79.9, 16.1), "no-learner", direction="t2v"),
        Row("L = 2", (44.0, 70.9, 80.6, 15.0), "layers-2", direction="t2v"),
        Row("L = 4", _OURS, "layers-4", direction="t2v"),
        Row("L = 8", (45.0, 72.1, 81.4, 14.6), "layers-8", direction="t2v"),
        Row("L = 16", (45.6, 72.4, 81.5, 14.7), "layers-16", direction="t2v"),
    ),
)
TABLE_11 = Table(
    11,
    "residual connections",
    _RECALL,
    (
        Row("without", (43.9, 71.7, 81.6, 15.1), "no-residual", direction="t2v"),
        Row("with", _OURS, "", direction="t2v"),
    ),
)
TABLES = (
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TABLE_7,
    TABLE_8,
    TABLE_9,
    TABLE_10,
    TABLE_11,
)
PAPER = Paper(
    "muse",
    "MUSE's comparisons and ablations",
    "R@k in percent",
    TABLES,
    ("msrvtt", "didemo", "activitynet"),
    remark=" Ours reads frozen tokens of CLIP; muse-clip-msrvtt and its like train CLIP. "
    "Scales of another grid than 7 × 7: a half, one, two and four times its side.",
)
