"""Tables 3.1 to 3.4 of the thesis: data sets, concepts with parts of speech, ad-hoc video search."""

from pipelines.systems.dual.tables.columns import BOTH, CONCEPT, FIGURES, LATENT
from vtr_core.tables.table import Column, Row, Table

_HYBRID = "(1536+512)-d Dual Enc."


TABLE_3_1 = Table(
    "3.1",
    "data sets",
    tuple(Column("data", name, name, 0) for name in ("videos", "captions", "topics")),
    (
        Row("MSR-VTT", (10_000, 200_000, None), "data-msrvtt"),
        Row("TGIF", (100_855, 124_534, None), "data-tgif"),
        Row("TV2016TRAIN", (5, 200, 400), "data-tv2016train"),
        Row("IACC.3", (335_944, None, 90), "data-iacc3"),
        Row("V3C1", (1_082_659, None, 90), "data-v3c1"),
    ),
)


TABLE_3_2 = Table(
    "3.2",
    "MSR-VTT, averages, official full-size test set",
    FIGURES,
    (
        Row("Dual Encoding TPAMI", (11.6, 30.3, 41.3, 17, 21.2, 22.5, 47.1, 58.9, 7, 10.5, 211.7), "", BOTH),
        Row("Dual Encoding GitHub", (11.8, 30.6, 41.8, 17, 21.4, 21.6, 45.9, 58.5, 7, 10.3, 210.2), "", BOTH),
        Row(
            "Dual Enc. (conf. 2048-d)", (11.0, 29.2, 39.8, 19, 20.2, 18.8, 42.7, 56.2, 8, 9.3, 197.7), "latent", LATENT
        ),
        Row(
            "Dual Enc. (conf. 1536-d)",
            (11.0, 29.3, 39.9, 19, 20.3, 19.7, 43.6, 55.6, 8, 9.3, 199.0),
            "latent-alone",
            LATENT,
        ),
        Row(f"{_HYBRID} re-run", (11.78, 31.0, 42.08, 16.1, 21.52, 20.7, 45.1, 57.74, 7, 10.13, 208.4), "", BOTH),
        Row(
            f"{_HYBRID} (TT)",
            (12.09, 31.39, 42.5, 16.1, 21.87, 20.68, 45.32, 58.12, 6.9, 10.32, 210.1),
            "pos-treetagger",
            BOTH,
        ),
        Row(
            f"{_HYBRID} (WN)",
            (12.02, 31.44, 42.59, 16.0, 21.84, 20.56, 45.6, 58.28, 6.9, 10.36, 210.5),
            "pos-wordnet",
            BOTH,
        ),
        Row(
            f"{_HYBRID} (spaCy)",
            (11.84, 31.07, 42.08, 16.4, 21.59, 20.29, 45.0, 57.78, 7, 10.22, 208.05),
            "pos-spacy",
            BOTH,
        ),
        Row("512-d concept space", (9.9, 26.8, 37.4, 23, 18.7, 17.9, 41.5, 53.9, 8, 9.0, 187.4), "", CONCEPT),
        Row(
            "512-d concept space (TT)",
            (10.1, 27.09, 37.31, 22.65, 18.86, 18.64, 41.83, 54.79, 8.5, 9.14, 189.74),
            "pos-treetagger",
            CONCEPT,
        ),
        Row(
            "512-d concept space (WN)",
            (10.14, 27.23, 37.53, 22.4, 18.94, 18.54, 42.25, 55.19, 8, 9.11, 190.87),
            "pos-wordnet",
            CONCEPT,
        ),
        Row(
            "512-d concept space (spaCy)",
            (9.85, 26.71, 36.76, 23.55, 18.54, 18.15, 41.45, 54.22, 8.3, 9.02, 187.15),
            "pos-spacy",
            CONCEPT,
        ),
        Row(
            "512-d, concept-only training",
            (9.84, 26.79, 37.02, 23.3, 18.57, 18.57, 41.85, 54.22, 8.4, 8.88, 188.28),
            "concept",
            CONCEPT,
        ),
        Row(
            "512-d, concept-only training (TT)",
            (10.15, 27.33, 37.65, 22.1, 18.98, 18.82, 42.32, 55.22, 8.15, 9.17, 191.49),
            "concept-pos-treetagger",
            CONCEPT,
        ),
        Row(
            "512-d, concept-only training (WN)",
            (10.14, 27.3, 37.58, 22.4, 18.96, 18.69, 42.13, 54.99, 8, 9.15, 190.82),
            "concept-pos-wordnet",
            CONCEPT,
        ),
        Row(
            "512-d, concept-only training (spaCy)",
            (9.96, 26.92, 37.18, 23.0, 18.71, 18.39, 41.59, 54.52, 8.5, 9.04, 188.55),
            "concept-pos-spacy",
            CONCEPT,
        ),
    ),
)


_AMBIGUOUS = "concept, ambiguous"


TABLE_3_3 = Table(
    "3.3",
    "captions with an ambiguous word, against their videos alone; concept-only training",
    FIGURES,
    (
        Row(
            "512-d, on the queries of WN",
            (29.25, 56.65, 67.41, 4, 41.94, 26.59, 49.35, 58.88, 5.8, 34.62, 288.13),
            "concept",
            _AMBIGUOUS,
            "the queries are those of the concept table that it was trained with",
        ),
        Row(
            "512-d (WN)",
            (30.39, 57.39, 68.23, 3.8, 43.14, 28.11, 49.45, 58.97, 5.7, 35.41, 292.53),
            "concept-pos-wordnet",
            _AMBIGUOUS,
        ),
        Row(
            "512-d, on the queries of TT",
            (31.18, 59.56, 70.62, 3.4, 44.33, 30.0, 55.14, 66.09, 4.2, 39.89, 312.59),
            "concept",
            _AMBIGUOUS,
        ),
        Row(
            "512-d (TT)",
            (32.26, 60.69, 71.66, 3.1, 45.49, 31.35, 56.0, 67.2, 4.1, 40.87, 319.17),
            "concept-pos-treetagger",
            _AMBIGUOUS,
        ),
    ),
)


TABLE_3_4 = Table(
    "3.4",
    "TRECVID ad-hoc video search, infAP",
    tuple(Column("avs", str(year), str(year), 2) for year in (*range(2016, 2022), "overall")),
    (
        Row("512-d Dual Encoding (re-run)", (11.3, 17.18, 8.6, 8.19, 10.23, 10.17, 10.98), "concept"),
        Row("Interpretable Embedding, ST concept", (13.4, 13.7, 6.8, 10.4, None, None, 11.1), "interpretable"),
        Row("512-d (TT)", (11.07, 18.12, 8.66, 7.46, 11.38, 11.16, 11.31), "concept-pos-treetagger"),
    ),
)
