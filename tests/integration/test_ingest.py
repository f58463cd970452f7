"""An ingest of more videos than one task counts the words of, in Ray's tasks; one and an extraction that are killed."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipelines.ingest import ingest_options as word_counts
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from tests.builders.small_videos import grey_video
from tests.drills.runs import kill_group, start_command, wait_until
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.sources.instructional.howto100m import HowTo100M
from vtr_core.errors import DatasetError, InputError

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


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ingest", "extract"])
def test_what_was_killed_goes_on_to_the_same_data_set(kind: str, tmp_path: Path) -> None:
    """By Ray; the shards that were written stay as they are."""
    words = ["ingest", "synthetic", "--num-clips", "3000", "--videos-per-shard", "20"]
    if kind == "extract":
        (tmp_path / "videos").mkdir()
        for number in range(40):
            grey_video(tmp_path / "videos" / f"{number:02d}.mp4", [k / 5 for k in range(20)], sound_s=4.0)
        rows = "\n".join(f"{number},a film,{number:02d}.mp4" for number in range(40))
        (tmp_path / "clips.csv").write_text(f"id,caption,video\n{rows}\n")
        words = [
            "extract",
            str(tmp_path / "videos"),
            "--captions",
            str(tmp_path / "clips.csv"),
            "--videos-per-shard",
            "4",
        ]
    out = tmp_path / "killed"
    process = start_command([*words, "--out", str(out)])
    wait_until(lambda: len(list(out.glob("_ingest/*-*.json"))) >= 3, process, 3600)
    kill_group(process)
    with pytest.raises(DatasetError, match="interrupted"):
        Manifest.load(str(out))
    written = {file: file.stat().st_mtime_ns for file in out.rglob("part-*.parquet")}
    for name in ("killed", "whole"):
        done = start_command([*words, "--out", str(tmp_path / name)])
        said, _ = done.communicate(timeout=3600)
        assert done.returncode == 0, said
    assert all(file.stat().st_mtime_ns == before for file, before in written.items())
    made = splits(str(out)) or {"": str(out)}
    assert [Manifest.load(uri).fingerprint for uri in made.values()] == [
        Manifest.load(str(tmp_path / "whole" / name)).fingerprint for name in made
    ]
