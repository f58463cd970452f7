"""A registered captioner describes the videos of a table, and is evaluated by its name."""

import mlflow.pyfunc
import numpy as np
import pandas as pd
import pytest
import torch

from pipelines.systems.captioning.caption_metrics import evaluate
from pipelines.systems.captioning.evaluate_captions import CaptioningFlags
from tests.builders.captioned import CaptionedVideos
from tests.builders.toy import written
from vtr_core.config.override import override
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.evaluated_rows import video_rows
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.source import Drops, Video, VideoEntry
from vtr_core.errors import InputError
from vtr_core.run.build import build_model
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.captioning.generated_captions import caption_videos, describable, require_captioner
from vtr_core.tracking.models.model_folder import example
from vtr_core.tracking.models.registry import register_checkpoint
from vtr_core.tracking.run import open_run
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint
from vtr_core.train.checkpoint.trained_model import LoadedModel
from vtr_core.train.tracked import ServedModel

CAPTIONS = {"a": ["a man runs in the park"], "b": ["a dog sleeps"], "c": ["a woman sings a song"]}
SMALL = {"model.hidden_dim": 8, "model.heads": 2, "model.mlp_dim": 16, "model.standardize": False}


class Moving(CaptionedVideos):
    """One to three frames per video, of each video other ones."""

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        number = sorted(CAPTIONS).index(video.video_id)
        values = 3 * np.random.default_rng(number).standard_normal((number + 1, 2))
        return Video(video.video_id, video.content, {"video": values.astype(np.float16)})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return written(Moving(CAPTIONS), tmp_path_factory.mktemp("moving") / "test", IngestOptions())[0]


@pytest.fixture(scope="module")
def checkpoint(data: Manifest, tmp_path_factory: pytest.TempPathFactory) -> str:
    config = with_inputs(override(preset("caption-msrvtt-tiny"), SMALL), data)
    torch.manual_seed(0)
    words = WordTable.load(data).vocabulary
    place = tmp_path_factory.mktemp("model") / "step-00000007"
    made = Checkpoint(config, build_model(config.model).state_dict(), {}, Progress(step=7), words)
    save_checkpoint(locate(str(place)), made)
    return str(place)


@pytest.fixture(scope="module")
def loaded(checkpoint: str) -> LoadedModel:
    return load_model(checkpoint)


def frames(data: Manifest) -> pd.DataFrame:
    """The frames of all videos, under the videos' ids."""
    cells = {}
    for videos in video_rows(data, row_groups(data), 64):
        for name, rows, kept in zip(videos.video_id, videos.frames["video"], videos.mask["video"], strict=True):
            cells[name] = rows[kept].float().numpy().tolist()
    return pd.DataFrame({"video": list(cells.values())}, index=list(cells))


def test_it_is_loaded_by_mlflow_and_says_what_the_checkpoint_says(
    data: Manifest, checkpoint: str, loaded: LoadedModel, tracking_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracking_store)
    run = open_run(tracking_store, "vtr", "a run", {})
    assert run is not None
    assert register_checkpoint(run, checkpoint, "speaker", SYSTEMS) == "1"
    served = mlflow.pyfunc.load_model("models:/speaker@champion")
    model = require_captioner(loaded.model, "it")
    expected = caption_videos(model, loaded.config, data, loaded.vocabulary, row_groups(data)).hypotheses
    assert len(set(expected.values())) > 1
    assert served.predict(frames(data))["caption"].to_dict() == expected
    assert isinstance(served.predict(example(loaded.config))["caption"][0], str)
    (result,) = evaluate(CaptioningFlags("models:/speaker@champion", (data.uri,), meteor=False))
    assert result.videos.hypotheses == expected
    assert describable(load_model("models:/speaker/1"), data.uri) == data


def test_a_video_without_frames_has_no_caption(loaded: LoadedModel, data: Manifest) -> None:
    some = frames(data)["video"].to_list()
    found = ServedModel(loaded).predict(pd.DataFrame({"video": [None, some[0], []]}, index=["x", "y", "z"]))
    assert list(found.index) == ["x", "y", "z"]
    assert [text is None for text in found["caption"]] == [True, False, True]
    assert found["caption"]["y"] == ServedModel(loaded).predict(frames(data))["caption"].iloc[0]
    assert ServedModel(loaded).predict(pd.DataFrame({"video": []})).empty


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"caption": ["a man"]},
            "the table has the columns caption; the model describes videos: give the column video",
        ),
        ({"video": [[[0.0, 1.0, 2.0]]]}, r"row 0, column video has the shape \(1, 3\)"),
        ({"video": [[0.0, 1.0]]}, r"row 0, column video has the shape \(2,\)"),
        ({"video": [["a", "b"]]}, "row 0, column video is no sequence of vectors"),
        ({"video": [[[0.0, 1.0], [0.0]]]}, "row 0, column video is no sequence of vectors"),
    ],
)
def test_a_table_that_does_not_fit_is_named(table: dict[str, object], message: str, loaded: LoadedModel) -> None:
    with pytest.raises(InputError, match=message):
        ServedModel(loaded).predict(pd.DataFrame(table))


def test_frames_that_float16_cannot_hold_are_named(loaded: LoadedModel) -> None:
    cell = np.full((2, loaded.config.model.inputs.features["video"]), 1e6)
    with pytest.raises(InputError, match="row 0, column video has a value that is not finite in float16"):
        ServedModel(loaded).predict(pd.DataFrame({"video": [cell]}))
