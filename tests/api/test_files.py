"""Video files are encoded as those of the training data were: bit for bit the vectors of the extracted data set."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vtr_core
from pipelines.extract.command import ExtractFlags, extract
from pipelines.train.command import TrainFlags, train
from tests.builders.small_videos import grey_video
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.embedding.embedded_rows import embed
from vtr_core.errors import ConfigError, InputError
from vtr_core.run.presets import preset
from vtr_core.systems.dual.dual_embeddings import embed_dual

NAMES = ("one.mp4", "two.mp4", "silent.mp4")
TINY = {"scaling.workers": 0, "batch.videos": 2, "batch.clips_per_video": 1, "training.max_steps": 1}
CLIPS = {**TINY, "model.num_capsules": 2, "model.embedding_dim": 4, "model.words.hidden_dim": 4}
VIDEOS = {**TINY, "model.latent_dim": 4, "model.num_concepts": None}


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("films")
    grey_video(folder / "one.mp4", [k / 5 for k in range(13)], sound_s=2.5)
    grey_video(folder / "two.mp4", [k / 5 for k in range(8)], sound_s=1.5)
    grey_video(folder / "silent.mp4", [k / 5 for k in range(6)])
    rows = [{"id": name, "caption": f"film {name[0]} is grey", "video": name} for name in NAMES]
    (folder / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def trained(
    films: Path, out: Path, records: str, name: str, changes: dict[str, Any]
) -> tuple[vtr_core.Model, Manifest]:
    """A model after a step, and the data set, extracted from the films."""
    captions = str(films / "captions.jsonl")
    extract(ExtractFlags(str(films), str(out / "data"), captions, workers=0, records=records))  # type: ignore[arg-type]
    train(override(preset(name), changes), TrainFlags(data=str(out / "data"), out=str(out / "run")))
    return vtr_core.load(out / "run", "cpu"), Manifest.load(str(out / "data"))


def ids(data: Manifest, column: str) -> list[str]:
    reader = RowGroupReader(data, [column])
    return [one for place in row_groups(data) for one in reader.read_arrow(place)[column].to_pylist()]


@pytest.mark.long
def test_clips(films: Path, tmp_path: Path) -> None:
    model, data = trained(films, tmp_path, "clips", "capsule-howto-tiny", CLIPS)
    rows = embed(model.loaded.model, model.features, data, model.loaded.vocabulary, row_groups(data), 1024)
    files = [films / name for name in ids(data, "clip_id")]
    found = model.encode_video(files)
    for modality in ("video", "audio"):
        kept = rows.present[modality]
        assert np.array_equal(found.present[modality], kept)
        assert np.array_equal(found.vectors[modality][kept], rows.vectors[modality][kept])
    assert np.array_equal(model.encode_audio(files), found.vectors["audio"])


@pytest.mark.long
def test_whole_videos(films: Path, tmp_path: Path) -> None:
    model, data = trained(films, tmp_path, "videos", "hybrid-msrvtt-tiny", VIDEOS)
    rows = embed_dual(model.loaded, data)
    files = [films / f"{name.removesuffix('.mp4')}.mp4" for name in rows.video_id]
    assert np.array_equal(model.encode_video(files), rows.video["latent"])
    with pytest.raises(InputError, match=r"captions\.jsonl"):
        model.encode_video([films / "captions.jsonl"])
    made = model.loaded.provenance["extraction"]
    model.loaded.provenance["extraction"] = {**made, "recipes": [{**made["recipes"][0], "fingerprint": "x"}]}
    with pytest.raises(ConfigError, match="is not that of the training data"):
        model.encode_video(files)
