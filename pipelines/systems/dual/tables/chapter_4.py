"""Table 4.1 of the thesis: ensembles."""

from pipelines.systems.dual.tables.columns import BOTH, FIGURES, LATENT
from pipelines.systems.dual.tables.trainings import FUSED
from vtr_core.tables.table import Row, Table

TABLE_4_1 = Table(
    "4.1",
    "ensembles",
    FIGURES,
    (
        Row(
            "latent independent 1536",
            (10.94, 29.12, 39.73, 19.3, 20.21, 19.0, 42.6, 54.81, 8.1, 9.26, 196.2),
            "latent-alone",
            LATENT,
        ),
        Row(
            "latent independent 512",
            (10.88, 29.06, 39.73, 19.25, 20.15, 19.42, 42.91, 55.2, 7.95, 9.3, 197.21),
            "equal-latent",
            LATENT,
        ),
        Row(
            "latent-latent coupled homogeneous, one space",
            (11.17, 29.83, 40.58, 18.1, 20.63, 19.95, 43.77, 56.31, 7.6, 9.57, 201.61),
            "equal-homogeneous",
            LATENT,
        ),
        Row(
            "latent-latent coupled heterogeneous, one space",
            (11.37, 30.25, 41.11, 17.8, 20.93, 19.85, 43.7, 56.26, 7.6, 9.63, 202.54),
            "equal-heterogeneous",
            LATENT,
        ),
        Row(
            "latent-concept coupled heterogeneous, one space",
            (11.42, 30.29, 41.16, 17.7, 21.0, 19.65, 43.24, 55.84, 7.9, 9.57, 201.6),
            "equal",
            LATENT,
        ),
        Row(
            "latent-latent independent homogeneous",
            (11.5, 30.3, 41.22, 17.55, 21.04, 20.92, 44.78, 56.99, 7.25, 9.89, 205.71),
            FUSED,
            BOTH,
            "pairs of the trainings of latent independent 512, each in one pair",
        ),
        Row(
            "latent-latent coupled homogeneous",
            (11.41, 30.31, 41.16, 17.7, 20.98, 20.3, 44.57, 56.85, 7.1, 9.8, 204.6),
            "equal-homogeneous",
            BOTH,
        ),
        Row(
            "latent-latent coupled heterogeneous",
            (11.78, 31.12, 42.28, 16.2, 21.6, 21.23, 45.65, 58.08, 7, 10.36, 210.14),
            "equal-heterogeneous",
            BOTH,
        ),
        Row(
            "latent-concept coupled heterogeneous",
            (11.76, 30.98, 42.1, 16.4, 21.52, 20.25, 44.74, 57.48, 7.1, 10.09, 207.31),
            "equal",
            BOTH,
        ),
    ),
)
