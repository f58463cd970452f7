"""Two ways to judge faces that need no other training: distances against a cohort, and several networks together.

Against a cohort: a pair's distance less the mean, and over the deviation, of each face's distances to all training
faces, averaged over the two faces (symmetric normalisation, as speakers are verified). Together: networks that differ
in their seeds alone, whose distances are averaged. Neither has a setting that the test subjects could have chosen;
groups, pairs and thresholds are those of `vtr tables siamese`. Runs that are finished are taken as they are:

    python -m benchmarks.faces.face_committee --faces ../shared/data/att_faces --members 3
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from benchmarks.faces.fisherfaces import FIGURES, Images, cell, fisherfaces, load
from benchmarks.faces.fisherfaces import Flags as FisherFlags
from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_file
from pipelines.arguments import parse
from pipelines.systems.siamese.face_runs import FaceRuns
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.annotations import PairList, load_pairs
from vtr_core.data.sources.faces import Faces
from vtr_core.data.sources.source import Drops
from vtr_core.data.splits import GroupSplit, group_split, held_out_groups
from vtr_core.metrics.verification import VerificationMetrics, equal_error_threshold, verification_metrics
from vtr_core.run.presets import preset
from vtr_core.systems.siamese.verification import encode_faces, siamese
from vtr_core.train.checkpoint import load_model

LINEAR = "Fisherfaces"


@dataclass(frozen=True)
class Flags:
    """Whose faces, which network, how many of it."""

    faces: str
    """Folder with a folder of images for each subject."""
    preset: str = "siamese-att-small"
    members: int = 3
    """Networks of each group, with the seeds 0, 1, …"""
    groups: tuple[int, ...] = ()
    """Numbers of the test groups (default: all)."""
    runs: str = "runs/face-committee"
    """Folder of the data sets and runs."""
    out: str = str(Path(__file__).parent.parent / "results" / "face_committee.md")
    """The page."""


@dataclass(frozen=True)
class Encoded:
    """Unit vectors of the images of some subjects, by a model."""

    vectors: Float[np.ndarray, "images dim"]
    at: Mapping[str, int]
    """The row of each image."""
    pairs: PairList

    def distances(self, cohort: Float[np.ndarray, "faces dim"] | None = None) -> Float[np.ndarray, " pairs"]:
        """Squared distances of the pairs; with a cohort in deviations of each face's distances to it."""
        first, second = ([self.at[getattr(pair, side)] for pair in self.pairs.pairs] for side in ("first", "second"))
        distance = np.square(self.vectors[first] - self.vectors[second]).sum(axis=1)
        if cohort is None:
            return distance
        to_cohort = 2 - 2 * self.vectors @ cohort.T
        mean, deviation = to_cohort.mean(axis=1), to_cohort.std(axis=1)
        return sum((distance - mean[side]) / deviation[side] for side in (first, second)) / 2

    @property
    def different(self) -> Bool[np.ndarray, " pairs"]:
        """Whether each pair is of two subjects."""
        return np.array([pair.different for pair in self.pairs.pairs])


@dataclass(frozen=True)
class Model:
    """What one model makes of a group: its training faces, and the validation's and the test's."""

    cohort: Float[np.ndarray, "faces dim"]
    validation: Encoded
    test: Encoded


def judged(models: Sequence[Model], normalised: bool) -> VerificationMetrics:
    """The test pairs by the models' mean distance, at the threshold of equal error rates on the validation pairs."""

    def mean(part: str) -> Float[np.ndarray, " pairs"]:
        found = [getattr(model, part).distances(model.cohort if normalised else None) for model in models]
        return np.mean(found, axis=0)

    threshold = equal_error_threshold(mean("validation"), models[0].validation.different)
    return verification_metrics(mean("test"), models[0].test.different, threshold)


def networks(flags: Flags, split: GroupSplit, number: int) -> list[Model]:
    """The group's networks, trained where they are missing."""
    runs = FaceRuns(flags.faces, None, 0, flags.runs, "vtr-face-committee")
    data = runs.data(f"group-{number}", split)
    config = preset(flags.preset)
    return [
        _network(
            runs.checkpoint(
                override(config, {"seed": seed, "scaling.workers": 0}), data, f"{flags.runs}/group-{number}/{seed}"
            ),
            data,
        )
        for seed in range(flags.members)
    ]


def _network(checkpoint: str, data: str) -> Model:
    loaded = load_model(checkpoint)

    def encoded(part: str) -> Encoded:
        manifest = Manifest.load(f"{data}/{part}")
        faces = encode_faces(siamese(loaded), loaded.config, manifest)
        pairs = load_pairs(manifest.source, manifest.location)
        return Encoded(_unit(faces.vectors), {name: row for row, name in enumerate(faces.image_id)}, pairs)

    return Model(encoded("train").vectors, encoded("val"), encoded("test"))


def linear(faces: str, split: GroupSplit) -> Model:
    """Fisherfaces of the training subjects."""
    flags = FisherFlags(faces)
    train, validation, test = (load(flags, part) for part in (split.train, split.validation, split.test))
    vectors = fisherfaces(flags, train, [train, validation, test])
    return Model(_unit(vectors[0]), _of(validation, vectors[1]), _of(test, vectors[2]))


def _of(images: Images, vectors: Float[np.ndarray, "images dim"]) -> Encoded:
    return Encoded(_unit(vectors), {name: row for row, name in enumerate(images.ids)}, images.pairs)


def _unit(vectors: Float[np.ndarray, "images dim"]) -> Float[np.ndarray, "images dim"]:
    values = vectors.astype(np.float64)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def measure(flags: Flags) -> dict[str, list[VerificationMetrics]]:
    """Every way's figures, group by group."""
    subjects = [entry.video_id for entry in Faces(root=flags.faces).videos(Drops())]
    groups = held_out_groups(subjects, 5, 0)
    found: dict[str, list[VerificationMetrics]] = {}
    for number in flags.groups or range(len(groups)):
        split = group_split(subjects, groups, number)
        models, fisher = networks(flags, split, number), linear(flags.faces, split)
        ways = {
            "SCN": judged(models[:1], normalised=False),
            "SCN, against a cohort": judged(models[:1], normalised=True),
            f"{flags.members} SCN together": judged(models, normalised=False),
            f"{flags.members} SCN together, against a cohort": judged(models, normalised=True),
            LINEAR: judged([fisher], normalised=False),
            f"{LINEAR}, against a cohort": judged([fisher], normalised=True),
        }
        for way, metrics in ways.items():
            found.setdefault(way, []).append(metrics)
    return found


def markdown(flags: Flags, found: Mapping[str, Sequence[VerificationMetrics]]) -> str:
    """A row for each way, percent: mean ± standard deviation over groups, and how it compares with Fisherfaces."""
    heads = [*(name for name, _ in FIGURES), "acc. less Fisherfaces'", "higher in"]
    lines = ["| | " + " | ".join(heads) + " |", "| --- |" + " ---: |" * len(heads)]
    linear_accuracy = np.array([one.accuracy for one in found[LINEAR]])
    for way, groups in found.items():
        cells = [cell([100 * value(one) for one in groups]) for _, value in FIGURES]
        more = 100 * (np.array([one.accuracy for one in groups]) - linear_accuracy)
        compared = ["–", "–"] if way == LINEAR else [cell(list(more)), f"{int((more > 0).sum())} of {len(more)}"]
        lines.append(f"| {way} | {' | '.join([*cells, *compared])} |")
    used = ", ".join(f"{name} {version}" for name, version in versions("torch", "scikit-learn").items())
    command = f"python -m benchmarks.faces.face_committee --faces {flags.faces} --members {flags.members}"
    return f"""# Faces judged against a cohort, and by several networks

`{flags.preset}`, {len(linear_accuracy)} disjoint groups of 5 test subjects, the next group gives the threshold, all
others train: the pairs and images of `vtr tables siamese`. Percent, mean ± standard deviation over groups.
*Against a cohort*: a distance is measured in deviations of both faces' distances to all training faces. *Together*: the
mean distance of networks that differ in their seeds. Both were fixed before any figure was seen, and have no settings.

{chr(10).join(lines)}

On {processor()}, load {os.getloadavg()[0]:.0f}; {used}; `{command}`.
"""


def main(argv: Sequence[str]) -> None:
    """Measure and write the page."""
    flags = parse(Flags, argv, "python -m benchmarks.faces.face_committee")
    out = page_file(flags.out)
    page = markdown(flags, measure(flags))
    out.write_text(page)
    print(page)


if __name__ == "__main__":
    main(sys.argv[1:])
