"""Fisherfaces leave out what differs between images of one subject, and pixels do not."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks.fisherfaces import Flags, by_group, load, markdown, measure

SUBJECTS, IMAGES, SIDE, TRAITS = 30, 6, 20, 5


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every subject mixes the same few traits; light from a side differs from image to image, and more than they do."""
    folder = tmp_path_factory.mktemp("faces")
    rng = np.random.default_rng(0)
    light = np.linspace(-1, 1, SIDE)[None].repeat(SIDE, axis=0)
    traits = rng.normal(size=(TRAITS, SIDE, SIDE))
    for subject in range(SUBJECTS):
        (folder / f"s{subject}").mkdir()
        pattern = np.tensordot(rng.normal(size=TRAITS), traits, axes=1)
        for image in range(IMAGES):
            face = pattern + 6 * rng.normal() * light + 0.3 * rng.normal(size=(SIDE, SIDE))
            pixels = np.clip(128 + 8 * face, 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"s{subject}" / f"{image}.png")
    return folder


def test_fisherfaces_see_through_the_light_and_pixels_do_not(root: Path):
    flags = Flags(faces=str(root), size=SIDE, principal=40, directions=8)
    pixels, fisher = (np.mean([metrics.auc for metrics in groups]) for groups in by_group(flags).values())
    assert fisher > 0.95 > pixels + 0.1
    figures = measure(flags)
    assert [len(groups) for groups in figures["ways"].values()] == [6, 6]
    page = markdown({**figures, "device": "a machine", "versions": {}, "command": "it"})
    assert f"| Fisherfaces | {np.mean([group['test acc.'] for group in figures['ways']['Fisherfaces']]):.2f} ± " in page


def test_only_the_subjects_asked_for_are_loaded_with_their_pairs(root: Path):
    found = load(Flags(faces=str(root), size=SIDE), ["s1", "s4"])
    assert found.pixels.shape == (2 * IMAGES, SIDE * SIDE)
    assert set(found.subjects) == {"s1", "s4"}
    assert {pair.first.partition("/")[0] for pair in found.pairs.pairs} <= {"s1", "s4"}
