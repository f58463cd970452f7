"""Real sets are split so that what is tested chose nothing."""

from pathlib import Path

import numpy as np

from benchmarks.worlds import Place, avletters
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader


def _ids(uri: str) -> set[str]:
    manifest = Manifest.load(uri)
    reader = RowGroupReader(manifest, ["video_id"])
    return {str(name) for place in row_groups(manifest) for name in reader.read(place)["video_id"]}


def test_utterances_are_split_by_repetition_and_speaker(tmp_path: Path) -> None:
    folder = tmp_path / "real" / "avletters"
    for part, shape, kind in (("lips", (3, 4, 5), np.uint8), ("mfcc", (4, 6), np.float32)):
        (folder / part).mkdir(parents=True)
        for name in ("A1_Anya", "A2_Anya", "A1_Bill", "A2_Bill", "B1_Anya", "B2_Anya"):
            np.save(folder / part / f"{name}.npy", np.ones(shape, kind))
    data = avletters(Place(str(tmp_path / "work"), str(tmp_path / "real"), 0))
    assert {name: _ids(uri) for name, uri in data.items()} == {
        "train": {"A1_Anya", "A1_Bill", "B1_Anya"},
        "val": {"A2_Bill"},
        "test": {"A2_Anya", "B2_Anya"},
    }
    assert avletters(Place(str(tmp_path / "work"), "no such folder", 0)) == data
