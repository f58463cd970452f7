"""Video and audio of the same utterance find each other, also when some training clips have no sound."""

import csv
from pathlib import Path

import pytest

from pipelines.evaluate.evaluation_flags import EvaluateFlags
from pipelines.evaluate.retrieval import evaluate
from pipelines.train.command import TrainFlags, train
from tests.builders.toy import written
from vtr_core.config.override import override
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.sources.pairs import Pairs
from vtr_core.run.presets import preset

pytestmark = pytest.mark.real
SETTINGS = {
    "batch.videos": 128,
    "batch.clips_per_video": 1,
    "model.input_dropout": 0.3,
    "scaling.workers": 0,
    "training.epochs": 30,
    "training.validate_every": 30,
}


def write_table(path: Path, folder: Path) -> int:
    """First repetitions train, second ones test; every fifth training clip is without its audio. Returns how many."""
    names = sorted(file.stem for file in (folder / "lips").glob("*.npy"))
    silent = 0
    with path.open("w", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow(["id", "caption", "video", "audio", "split"])
        for i, name in enumerate(names):
            split = "train" if name[1] == "1" else "test"
            without = split == "train" and i % 5 == 0
            silent += without
            audio = "" if without else f"mfcc/{name}.npy"
            writer.writerow([name, f"the letter {name[0]}", f"lips/{name}.npy", audio, split])
    return silent


@pytest.mark.long
def test_video_and_audio_find_each_other(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "avletters"
    silent = write_table(tmp_path / "table.csv", folder)
    source = Pairs(table=str(tmp_path / "table.csv"), root=str(folder), feature_columns=("video", "audio"))
    written(source, tmp_path / "data", IngestOptions())
    trained = Manifest.load(str(tmp_path / "data" / "train"))
    reader = RowGroupReader(trained, ["has_audio"])
    assert sum(int((~reader.read(place)["has_audio"]).sum()) for place in row_groups(trained)) == silent > 0
    config = override(preset("capsule-howto-tiny"), SETTINGS)
    finished = train(config, TrainFlags(data=trained.uri, out=str(tmp_path / "run")))
    (result,) = evaluate(EvaluateFlags(finished.checkpoint, (str(tmp_path / "data" / "test"),)))
    found = {direction.name: direction for direction in result.directions}
    for name in ("v2a", "a2v"):
        assert found[name].metrics.num_queries == 260
        assert found[name].metrics.recall[10] > 6 * found[name].chance.recall[10]
    assert found["t2va"].metrics.recall[10] > 3 * found["t2va"].chance.recall[10]
