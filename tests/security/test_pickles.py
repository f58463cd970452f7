"""A pickle is never loaded, in whatever place of data or checkpoints it lies: it is refused, and the file named."""

import contextlib
import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.builders.toy import Toy, toy_dataset
from tests.fuzz.test_checkpoints import CHECKPOINT, read, sign, write
from tests.fuzz.worlds import WORLDS, ingest
from tests.security.payload import FORMS, Payload, forms
from vtr_core.data.manifest import FILE, Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import VtrError
from vtr_core.text.word_vectors import read_word_vectors

_CSVS = ("MSRVTT_train.9k.csv", "MSRVTT_JSFUSION_test.csv")
UNUSED = {
    "bigfile": ("test.txt", "tgif.tsv", "train.txt"),
    "tgif": ("captions.txt",),
    "msrvtt": _CSVS,
    "msrvtt_videos": _CSVS,
    "mining_youtube_all": ("list.txt", "recipes.csv"),
    "pairs_csv": ("v3.npy", "v2.npy"),
    "pairs_jsonl": ("v3.npy", "v2.npy"),
    "pairs_parquet": ("v3.npy", "v2.npy"),
}
"""Files of a world that its settings do not name."""


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "loaded"


def test_the_payload_works(marker: Path) -> None:
    """Else the tests below would prove nothing."""
    pickle.loads(forms(marker)["pickle"])
    assert marker.exists()


@pytest.mark.parametrize(("place", "name"), enumerate(WORLDS), ids=list(WORLDS))
def test_sources(place: int, name: str, tmp_path: Path, marker: Path) -> None:
    """Every file of an adapter's input that is read, one after another, in the forms by turns."""
    world, contents = WORLDS[name], list(forms(marker).values())
    root = tmp_path / "in"
    root.mkdir()
    world.write(root)
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.name not in UNUSED.get(name, ()))
    for number, file in enumerate(files):
        before = file.read_bytes()
        file.write_bytes(contents[(place + number) % len(contents)])
        with pytest.raises(VtrError, match=str(root)):
            ingest(world.source(root), tmp_path / f"out{number}", strict=True)
        assert not marker.exists(), file
        file.write_bytes(before)
    assert not list(tmp_path.rglob("escaped*"))


@pytest.mark.parametrize("form", FORMS)
def test_word_vectors(form: str, tmp_path: Path, marker: Path) -> None:
    file = tmp_path / "vectors.bin"
    file.write_bytes(forms(marker)[form])
    with pytest.raises(VtrError, match=r"vectors\.bin"):
        read_word_vectors(str(file), {"word"})
    assert not marker.exists()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "name",
    ["checkpoint.json", "config.json", "model.safetensors", "optimizer.pt", "progress.json", "vocabulary.json",
     "provenance.json"],
)  # fmt: skip
def test_checkpoints(name: str, form: str, tmp_path: Path, marker: Path) -> None:
    """Also where the hash is that of the pickle."""
    write(tmp_path / CHECKPOINT)
    (tmp_path / CHECKPOINT / name).write_bytes(forms(marker)[form])
    if name != "checkpoint.json":
        sign(tmp_path / CHECKPOINT)
    with pytest.raises(VtrError, match=name.replace(".", r"\.")):
        read(tmp_path)
    assert not marker.exists()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [FILE, "vocabulary.json", "word_vectors.safetensors", "part-00000.parquet"])
def test_data_sets(name: str, form: str, tmp_path: Path, marker: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("video 1 2\nnumber1 3 4\n")
    ingest(Toy(), tmp_path / "toy", strict=True, word_vectors=str(words))
    (tmp_path / "toy" / name).write_bytes(forms(marker)[form])
    with pytest.raises(VtrError, match=name.replace(".", r"\.")):
        _read(tmp_path / "toy")
    assert not marker.exists()


def test_what_parquet_files_say_of_themselves_is_not_loaded(tmp_path: Path, marker: Path) -> None:
    """Metadata of pandas, extension types and Arrow's own schema: strings that no reader of ours interprets."""
    (manifest,) = toy_dataset(tmp_path / "toy")
    shard = tmp_path / "toy" / manifest.shards[0].file
    payload = pickle.dumps(Payload(marker), protocol=0)
    table = pq.read_table(shard)
    extension = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": payload}
    fields = [field.with_metadata(extension) for field in table.schema]
    schema = pa.schema(fields, metadata={b"pandas": payload, b"vtr": payload})
    pq.write_table(table.cast(schema), shard, compression="none")
    with contextlib.suppress(VtrError):
        _read(tmp_path / "toy")
    assert not marker.exists()


def test_tables_of_own_data_are_not_unpickled(tmp_path: Path, marker: Path) -> None:
    world = WORLDS["pairs_parquet"]
    root = tmp_path / "in"
    root.mkdir()
    world.write(root)
    payload = pickle.dumps(Payload(marker), protocol=0)
    extension = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": payload}
    table = pq.read_table(root / "table.parquet")
    schema = pa.schema([field.with_metadata(extension) for field in table.schema], metadata={b"pandas": payload})
    pq.write_table(table.cast(schema), root / "table.parquet")
    ingest(world.source(root), tmp_path / "out", strict=True)
    assert not marker.exists()


def _read(folder: Path) -> None:
    manifest = Manifest.load(str(folder))
    WordTable.load(manifest)
    reader = RowGroupReader(manifest, manifest.schema.arrow().names)
    for place in row_groups(manifest):
        reader.read(place)


def test_object_arrays_are_no_features(tmp_path: Path, marker: Path) -> None:
    """Where one file of many is at fault it is dropped and counted, not loaded."""
    world = WORLDS["msrvtt"]
    root = tmp_path / "in"
    root.mkdir()
    world.write(root)
    np.save(root / "features" / "video0.npy", np.array([Payload(marker)], dtype=object), allow_pickle=True)
    ingest(world.source(root), tmp_path / "out", strict=False)
    assert not marker.exists()
    found = Manifest.load(str(tmp_path / "out" / "train"))
    assert dataclasses.asdict(found)["dropped"] == {"not_numeric": 2}
