"""A concept table on a store: made there from a data set that is there, and cached there."""

from pathlib import Path

import numpy as np
import pytest

from pipelines.concepts import command as concepts
from tests.builders.captioned import captioned_videos
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.fingerprint import key64

CAPTIONS = {"a": ["a dog runs", "two dogs run"], "b": ["a man", "the man"]}


def test_it_is_the_table_of_a_disk(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    captioned_videos(folder, CAPTIONS)  # type: ignore[arg-type]
    captioned_videos(tmp_path / "d", CAPTIONS)
    for uri in (folder, str(tmp_path / "d"), folder):
        concepts.main([uri, "--processes", "1"])
    assert capsys.readouterr().out.count("0 distinct captions tagged, 4 found") == 1
    on_store, on_disk = ConceptTable.load(f"{folder}/concepts"), ConceptTable.load(str(tmp_path / "d" / "concepts"))
    assert on_store.fingerprint == on_disk.fingerprint
    keys = np.array([key64("b"), key64("a")])
    np.testing.assert_array_equal(on_store.soft_labels(keys, 3), on_disk.soft_labels(keys, 3))
