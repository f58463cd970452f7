"""LFW: files of pairs with and without folds, photographs, and what is wrong with them."""

from pathlib import Path

import pytest
from PIL import Image

from tests.builders.made_faces import face, ingested
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.evaluated_rows import require_other_subjects
from vtr_core.data.records.arrays import load_pairs
from vtr_core.data.sources.lfw import Lfw, parse_pairs
from vtr_core.errors import DatasetError, InputError

VIEW_2 = "2\t1\nAda\t1\t2\nAda\t1\tBob\t1\nBob\t1\t2\nBob\t2\tCid\t1\n"
DEV = "1\nDee\t1\t2\nDee\t1\tEve\t1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number, (person, photos) in enumerate({"Ada": 2, "Bob": 2, "Cid": 1, "Dee": 2, "Eve": 1}.items()):
        (tmp_path / "lfw" / person).mkdir(parents=True)
        for photo in range(1, photos + 1):
            image = Image.fromarray(face(number, photo)).convert("RGB")
            image.save(tmp_path / "lfw" / person / f"{person}_{photo:04d}.jpg")
    (tmp_path / "pairs.txt").write_text(VIEW_2)
    (tmp_path / "pairsDevTrain.txt").write_text(DEV)
    return tmp_path


def lfw(root: Path, file: str = "pairs.txt") -> Lfw:
    return Lfw(root=str(root / "lfw"), pairs_file=str(root / file), size=40)


def test_view_2_has_its_folds(root: Path):
    manifest = Manifest.load(ingested(lfw(root), root / "out")[""])
    assert (manifest.rows, manifest.videos, manifest.schema.shape) == (5, 3, (40, 40, 1))
    pairs = load_pairs(manifest.source, manifest.location).pairs
    assert [(p.first, p.second, p.different, p.fold) for p in pairs] == [
        ("Ada_0001", "Ada_0002", False, 0),
        ("Ada_0001", "Bob_0001", True, 0),
        ("Bob_0001", "Bob_0002", False, 1),
        ("Bob_0002", "Cid_0001", True, 1),
    ]


def test_view_1_shares_nobody_with_these_folds(root: Path):
    view_2 = Manifest.load(ingested(lfw(root), root / "out")[""])
    dev = Manifest.load(ingested(lfw(root, "pairsDevTrain.txt"), root / "dev")[""])
    require_other_subjects(dev, view_2, "training and test")
    with pytest.raises(DatasetError, match=r"training and test share 3 subjects: Ada, Bob, Cid are in"):
        require_other_subjects(view_2, view_2, "training and test")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: '' is neither"),
        ("x\n", "line 1: 'x' is neither"),
        ("1\nAda\t1\t2\n", "has 2 lines; 1 folds of 1 matching and 1 different pairs are 3"),
        ("1\nAda\t1\tx\nAda\t1\tBob\t1\n", r"line 2: 'Ada 1 x' is not 'person i j'"),
        ("1\nAda\t1\t2\nAda\t1\t2\n", r"line 3: 'Ada 1 2' is not 'person i person j'"),
        ("1\nAda\t1\t2\nAda\t1\tAda\t2\n", "line 3: a different pair names Ada twice"),
        ("1\n../x\t1\t2\nAda\t1\tBob\t2\n", r"line 2: the id '\.\./x' cannot be a file name"),
    ],
)
def test_faults_in_the_file_are_named_by_line(text: str, message: str):
    with pytest.raises(InputError, match=message):
        parse_pairs(text, "pairs.txt")
