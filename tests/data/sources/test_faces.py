"""Faces as a folder for each subject."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.builders.made_faces import face, ingested, made_faces, names
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.evaluated_rows import read_images, subjects_of
from vtr_core.data.records.arrays import load_pairs
from vtr_core.data.records.schema import ImageSchema
from vtr_core.data.sources.faces import Faces
from vtr_core.data.sources.source import Drops
from vtr_core.errors import ConfigError, DatasetError, InputError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made_faces(tmp_path / "faces")


def test_images_come_back_as_they_are(root: Path, tmp_path: Path):
    places = ingested(Faces(root=str(root)), tmp_path / "out")
    manifest = Manifest.load(places[""])
    assert manifest.schema == ImageSchema((), 20, 48, 40, 1)
    assert (manifest.rows, manifest.videos) == (32, 8)
    rows = read_images(manifest, row_groups(manifest))
    assert set(rows.subject) == set(names(1, 8))
    at = rows.image_id.index("s3/2")
    assert rows.subject[at] == "s3"
    np.testing.assert_array_equal(rows.pixels[at, 0].numpy(), face(3, 2))


@pytest.mark.parametrize("suffix", ["png", "PGM"])
def test_other_formats_and_other_files(tmp_path: Path, suffix: str):
    root = made_faces(tmp_path / "faces", suffix=suffix.lower())
    (root / "README").write_text("no image")
    (root / "s1" / "notes.txt").write_text("no image")
    (root / "empty").mkdir()
    if suffix == "PGM":
        (root / "s1" / "1.pgm").rename(root / "s1" / "1.PGM")
    assert Manifest.load(ingested(Faces(root=str(root)), tmp_path / "out")[""]).rows == 32


def test_size_and_colour(tmp_path: Path):
    root = made_faces(tmp_path / "faces")
    for file in root.glob("*/*.pgm"):
        Image.open(file).convert("RGB").save(file.with_suffix(".png"))
        file.unlink()
    assert Faces(root=str(root), size=20).shape() == (20, 20, 1)
    assert Faces(root=str(root), grey=False).shape() == (48, 40, 3)


def test_splits_by_subject(root: Path, tmp_path: Path):
    source = Faces(root=str(root), validation=names(1, 2), test=names(3, 4))
    places = ingested(source, tmp_path / "out")
    subjects = {split: subjects_of(Manifest.load(uri)) for split, uri in places.items()}
    assert subjects == {"train": names(5, 8), "val": names(1, 2), "test": names(3, 4)}
    for split, uri in places.items():
        manifest = Manifest.load(uri)
        pairs = load_pairs(manifest.source, manifest.location).pairs
        assert sum(pair.different for pair in pairs) * 2 == len(pairs)
        assert {pair.first.split("/")[0] for pair in pairs} <= set(subjects[split])


def test_a_changed_pair_list_is_refused(root: Path, tmp_path: Path):
    manifest = Manifest.load(ingested(Faces(root=str(root)), tmp_path / "out")[""])
    place = tmp_path / "out" / "pairs.json"
    place.write_text(place.read_text().replace("s1/1", "s1/2", 1))
    with pytest.raises(DatasetError, match=r"pairs\.json is damaged \(its sha256 is not the recorded one"):
        load_pairs(manifest.source, manifest.location)
    place.unlink()
    with pytest.raises(DatasetError, match=r"pairs\.json cannot be read"):
        load_pairs(manifest.source, manifest.location)


def replaced(image: Image.Image | bytes, name: str = "2.png", old: str | None = "2.pgm"):
    """Puts an image of s2 beside `old`, or in its place."""

    def spoil(root: Path) -> None:
        if old is not None:
            (root / "s2" / old).unlink()
        image.save(root / "s2" / name) if not isinstance(image, bytes) else (root / "s2" / name).write_bytes(image)

    return spoil


def only(pattern: str):
    """Removes the images of a pattern, and folders that are empty then."""

    def spoil(root: Path) -> None:
        for file in root.glob(pattern):
            file.unlink()

    return spoil


GREY = face(2, 2)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            replaced(Image.fromarray(face(2, 5)), old=None),
            r"s2 has 2\.p.. and 2\.p.., whose ids would both be s2/2; rename",
        ),
        (only("s2/[234].pgm"), r"subject 's2' has 1 image, which makes no matching pair"),
        (
            replaced(Image.fromarray(face(2, 2, (50, 40))), "2.pgm"),
            r"s2/2\.pgm is 50 × 40 grey, .*s1/1\.pgm is 48 × 40 grey; all images must have one size",
        ),
        (
            replaced(Image.fromarray(GREY).convert("RGB")),
            r"s2/2\.png is 48 × 40 RGB, .*48 × 40 grey; all images must have one size and depth",
        ),
        (
            replaced(Image.fromarray(GREY.astype(np.uint16) * 100)),
            r"s2/2\.png has pixels of mode 'I;16'; images must be 8-bit grey or RGB",
        ),
        (replaced(b"P5 40 48 255\n" + bytes(100), "2.pgm"), r"s2/2\.pgm is not a readable image"),
        (replaced(b"", "2.pgm"), r"s2/2\.pgm is not a readable image"),
        (only("s[123]/*"), r"holds 5 subjects; verification on unseen faces needs at least 6"),
    ],
)
def test_what_cannot_be_used_is_named(root: Path, tmp_path: Path, spoil, message: str):
    spoil(root)
    with pytest.raises(InputError, match=message):
        ingested(Faces(root=str(root)), tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"validation": ("s1",), "test": ("s1",)}, "'s1' is in --validation and in --test"),
        ({"test": ("s99",)}, "no subject 's99' to hold out"),
        ({"test": names(1, 8)}, "all 8 subjects .* are held out"),
    ],
)
def test_held_out_subjects_are_checked(root: Path, held: dict[str, tuple[str, ...]], message: str):
    with pytest.raises(ConfigError, match=message):
        Faces(root=str(root), **held).videos(Drops())
