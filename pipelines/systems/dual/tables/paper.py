"""Tables 3.1 to 5.4 of the thesis (explainable video-text retrieval by dual encoding)."""

from pipelines.systems.dual.tables.chapter_3 import TABLE_3_1, TABLE_3_2, TABLE_3_3, TABLE_3_4
from pipelines.systems.dual.tables.chapter_4 import TABLE_4_1
from pipelines.systems.dual.tables.chapter_5 import TABLE_5_1, TABLE_5_2, TABLE_5_3, TABLE_5_4
from pipelines.systems.dual.tables.columns import SET
from vtr_core.tables.table import Paper

PAPER = Paper(
    "thesis",
    "Tables of the thesis on explainable video-text retrieval",
    "R@k, mAP, SumR, C@k and infAP in percent",
    (TABLE_3_1, TABLE_3_2, TABLE_3_3, TABLE_3_4, TABLE_4_1, TABLE_5_1, TABLE_5_2, TABLE_5_3, TABLE_5_4),
    (SET, "data", "avs"),
    remark=" 512 and 256, 1536 and 2048 are the published dimensions: rows are trained with those of the preset.",
)
