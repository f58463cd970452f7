"""An ingest of more videos than one task counts the words of: in Ray's tasks, to the same data set."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipelines.ingest import ingest_options as word_counts
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from vtr_core.data.sources.instructional.howto100m import HowTo100M
from vtr_core.errors import InputError

pytestmark = pytest.mark.integration
WORDS = "whisk the eggs then fold them into flour"


@pytest.fixture
def source(tmp_path: Path) -> HowTo100M:
    (tmp_path / "2d").mkdir()
    captions = {}
    for number in range(9):
        np.save(tmp_path / "2d" / f"v{number}.npy", np.full((30, 2), number, np.float16))
        texts = WORDS.split()[: number + 1]
        starts = [3.0 * place for place in range(len(texts))]
        captions[f"v{number}"] = {"start": starts, "end": [start + 3 for start in starts], "text": texts}
    (tmp_path / "captions.json").write_text(json.dumps(captions))
    return HowTo100M(features_2d=str(tmp_path / "2d"), annotations=str(tmp_path / "captions.json"))


def test_words_are_counted_in_parts(
    source: HowTo100M,
    tmp_path: Path,
    local_ray: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (alone,) = ingest(source, IngestFlags(out=str(tmp_path / "alone"))).manifests
    assert "words of" not in capsys.readouterr().out
    monkeypatch.setattr(word_counts, "VIDEOS_AT_ONCE", 4)
    (parts,) = ingest(source, IngestFlags(out=str(tmp_path / "parts"))).manifests
    assert "words of 4 of 9 videos" in capsys.readouterr().out
    assert parts.fingerprint == alone.fingerprint
    assert json.loads((tmp_path / "parts" / "vocabulary.json").read_text())["words"][0] == "whisk"
    captions = Path(source.annotations)
    captions.write_text(captions.read_text().replace('"text": ["whisk"]', '"text": []'))
    with pytest.raises(InputError, match=r"captions\.json, video v0: it must be"):
        ingest(source, IngestFlags(out=str(tmp_path / "damaged")))
