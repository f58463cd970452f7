"""`vtr export --onnx`: each tower computes what torch does, for any number of rows."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vtr_core
from pipelines.cli import run
from tests.builders.dual_checkpoints import capsule_checkpoint, dual_checkpoint
from tests.builders.toy import toy_dataset, toy_videos
from tests.optional import optional
from vtr_core.errors import ConfigError


@pytest.mark.long
def test_towers_compute_what_the_model_does(tmp_path: Path) -> None:
    runtime = optional("onnxruntime", "onnx")
    optional("onnxscript", "onnx")
    checkpoint = capsule_checkpoint(tmp_path / "c", toy_dataset(tmp_path / "d")[0])
    # by itself: checks of shapes, which tests add to every call, would fix the number of rows
    words = [sys.executable, "-m", "pipelines.export", checkpoint, "--to", str(tmp_path / "out"), "--onnx"]
    subprocess.run(words, check=True, capture_output=True, timeout=3600)
    model = vtr_core.load(tmp_path / "out", "cpu")
    inputs, vocabulary = model.loaded.config.model.inputs, model.loaded.vocabulary
    texts = ["video number1", "number3 video", "video"] * 4
    tokens = vocabulary.encode_all(texts, inputs.max_words).astype(np.int64)
    videos = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float16).astype(np.float32)
    for name, given, expected in (
        ("text", tokens, model.encode_text(texts)),
        ("video", videos, model.encode_video(videos)),
    ):
        session = runtime.InferenceSession(str(tmp_path / "out" / f"{name}.onnx"))
        (found,) = session.run(None, {name: given})
        np.testing.assert_allclose(found, np.asarray(expected), atol=1e-4)
    assert (tmp_path / "out" / "audio.onnx").exists()


def test_other_models_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    checkpoint = dual_checkpoint(tmp_path / "c", toy_videos(tmp_path / "d"))
    with pytest.raises(ConfigError, match="a 'hybrid_encoder' model has no towers that ONNX can hold"):
        run("export", [checkpoint, "--to", str(tmp_path / "out"), "--onnx"])
    assert not (tmp_path / "out" / "config.json").exists()
