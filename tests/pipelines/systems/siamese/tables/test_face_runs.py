"""The data sets behind a table of faces: which source they are made of."""

from pathlib import Path

import pytest

from pipelines.systems.siamese import face_runs
from pipelines.systems.siamese.face_runs import FaceRuns
from vtr_core.data.splits import GroupSplit


def test_another_spelling_of_the_folder_is_the_same_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = []
    monkeypatch.setattr(face_runs, "ingest", lambda source, flags: sources.append((source, flags.out)))
    monkeypatch.chdir(tmp_path)
    for faces in ("faces", "faces/", str(tmp_path / "faces")):
        FaceRuns(faces, 42, 0, "out", "faces").data("group-0", GroupSplit(("s1", "s2"), (), ("s3", "s4")))
    assert sources == sources[:1] * 3
