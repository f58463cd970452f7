"""Faces without a network: what pixels and Fisherfaces tell apart by the protocol of `vtr tables siamese`.

Fisherfaces (Belhumeur et al. 1997): principal components of the training subjects' images and of their mirror images,
which are other subjects', and of these the directions in which subjects differ most beside how their images differ.
Groups, pairs, images and the threshold are those of the table; there is nothing random.

    python -m benchmarks.fisherfaces --faces ../shared/data/att_faces
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from torch.nn.functional import normalize

from benchmarks.report.pages import RESULTS, Benchmark, origin, table
from vtr_core.data.plan import group_split, held_out_groups
from vtr_core.data.records.arrays import PairList
from vtr_core.data.sources.faces import Faces
from vtr_core.data.sources.source import Drops
from vtr_core.metrics.intervals import estimate
from vtr_core.metrics.verification import VerificationMetrics, equal_error_threshold, verification_metrics
from vtr_core.systems.siamese.face_images import prepared

Vectors = dict[str, Float[np.ndarray, " dim"]]
"""By image."""
FIGURES = (
    ("test acc.", lambda metrics: metrics.accuracy),
    ("best threshold of the test pairs", lambda metrics: metrics.best_accuracy),
    ("test AUC", lambda metrics: metrics.auc),
    ("test EER", lambda metrics: metrics.equal_error_rate),
)


@dataclass(frozen=True)
class Flags:
    """Whose faces, and the sizes."""

    faces: str
    """Folder with a folder of images for each subject."""
    size: int = 42
    """Images are brought to this many rows and columns."""
    principal: int = 200
    """Principal components."""
    directions: int = 20
    """Of Fisher's criterion, as many as a network's encoding has numbers."""
    shrinkage: float = 0.1
    """Share of the mean variance within subjects that each component's is drawn to."""
    out: str = str(RESULTS)
    """Folder for fisherfaces.json and fisherfaces.md."""


@dataclass(frozen=True)
class Images:
    """All images of some subjects: standardised pixels, one row each, and ids in the same order."""

    pixels: Float[np.ndarray, "images pixels"]
    mirrored: Float[np.ndarray, "images pixels"]
    ids: Sequence[str]
    subjects: Sequence[str]
    pairs: PairList


def load(flags: Flags, subjects: Sequence[str]) -> Images:
    """The images of these subjects, and the list of pairs that a data set of them has."""
    source = Faces(root=flags.faces)
    entries = [entry for entry in source.videos(Drops()) if entry.video_id in subjects]
    images = [(entry.video_id, image) for entry in entries for image in source.images(entry)]
    pixels = torch.from_numpy(np.stack([image.pixels for _, image in images])).permute(0, 3, 1, 2)
    grid = (flags.size, flags.size)
    return Images(
        pixels=prepared(pixels, grid).flatten(1).numpy(),
        mirrored=prepared(pixels.flip(-1), grid).flatten(1).numpy(),
        ids=[image.image_id for _, image in images],
        subjects=[subject for subject, _ in images],
        pairs=source.pairs(entries),
    )


def fisherfaces(flags: Flags, train: Images, judged_sets: Sequence[Images]) -> list[Float[np.ndarray, "images dim"]]:
    """The directions that tell the training subjects apart, of the others' images."""
    pixels = np.concatenate([train.pixels, train.mirrored])
    subjects = [*train.subjects, *(f"{subject} mirrored" for subject in train.subjects)]
    principal = PCA(min(flags.principal, len(pixels) - 1), svd_solver="full").fit(pixels)
    fisher = LinearDiscriminantAnalysis(solver="eigen", shrinkage=flags.shrinkage, n_components=flags.directions)
    fisher.fit(principal.transform(pixels), subjects)
    return [fisher.transform(principal.transform(images.pixels)) for images in judged_sets]


def judged(validation: Images, test: Images, encoded: Sequence[np.ndarray]) -> VerificationMetrics:
    """The test pairs at the threshold of equal error rates on the validation pairs; both by squared distance."""
    ours, theirs = (_distances(images, vectors) for images, vectors in zip((validation, test), encoded, strict=True))
    return verification_metrics(*theirs, equal_error_threshold(*ours))


def _distances(images: Images, encoded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    vectors = normalize(torch.from_numpy(encoded).double(), dim=1).numpy()
    place = {name: row for row, name in enumerate(images.ids)}
    first, second = (
        vectors[[place[getattr(pair, side)] for pair in images.pairs.pairs]] for side in ("first", "second")
    )
    return np.square(first - second).sum(axis=1), np.array([pair.different for pair in images.pairs.pairs])


def measure(flags: Flags) -> dict[str, Any]:
    """Both ways' figures, group by group, and the settings."""
    settings = {name: value for name, value in asdict(flags).items() if name not in ("out", "faces")}
    ways = by_group(flags)
    return {"ways": {name: [shown(group) for group in groups] for name, groups in ways.items()}, **settings}


def shown(metrics: VerificationMetrics) -> dict[str, float]:
    """The figures of the page, in percent."""
    return {name: 100 * value(metrics) for name, value in FIGURES}


def by_group(flags: Flags) -> dict[str, list[VerificationMetrics]]:
    """The metrics of pixels and of Fisherfaces, group by group."""
    subjects = [entry.video_id for entry in Faces(root=flags.faces).videos(Drops())]
    groups = held_out_groups(subjects, 5, 0)
    ways: dict[str, list[VerificationMetrics]] = {"pixels": [], "Fisherfaces": []}
    for number in range(len(groups)):
        split = group_split(subjects, groups, number)
        train, validation, test = (load(flags, part) for part in (split.train, split.validation, split.test))
        ways["pixels"].append(judged(validation, test, [validation.pixels, test.pixels]))
        ways["Fisherfaces"].append(judged(validation, test, fisherfaces(flags, train, [validation, test])))
    return ways


def markdown(figures: Mapping[str, Any]) -> str:
    """A row for each way, percent: mean ± standard deviation over groups."""
    names = [name for name, _ in FIGURES]
    ways = figures["ways"].items()
    rows = [[way, *(cell([group[name] for group in groups]) for name in names)] for way, groups in ways]
    return f"""# Faces without a network

{len(figures["ways"]["pixels"])} disjoint groups of 5 test subjects, the next group gives the threshold, all others
train: `vtr tables siamese`'s protocol, pairs and images. Percent, mean ± standard deviation over groups. Images of
{figures["size"]} × {figures["size"]}; {figures["principal"]} principal components, {figures["directions"]} directions,
shrinkage {figures["shrinkage"]:g}.

{chr(10).join(table(["", *names], rows))}

{origin(figures)}
"""


def cell(values: Sequence[float]) -> str:
    """Mean ± standard deviation over groups; of a single group its figure alone."""
    mean = estimate(values)
    return f"{mean.mean:.2f}" + ("" if mean.deviation is None else f" ± {mean.deviation:.2f}")


BENCHMARK = Benchmark(
    "benchmarks.fisherfaces",
    Flags,
    measure,
    markdown,
    (
        "torch",
        "scikit-learn",
    ),
)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
