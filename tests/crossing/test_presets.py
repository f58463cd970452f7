"""Every small preset and variant from training to the Python interface.

No traceback of a command, no value that is not finite, a run that was cut short ends bit-equal, and so does one of a
Ray worker. What a model cannot do is refused in one line, and only what stands here is refused.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import vtr_core
from pipelines.cli import run
from pipelines.train.command import TrainFlags, resume, train
from tests.crossing.worlds import world_of
from tests.drills.runs import assert_equal_runs, cut_short, losses, weights
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.errors import CheckpointError, ConfigError, VtrError
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import PRESETS, preset

STEPS_PER_EPOCH = 2
SAMPLE = ("capsule-howto-tiny", "muse-tokens-tiny", "siamese-att-tiny", "caption-msrvtt-tiny")
"""A preset of most kinds of models; those whose data takes seconds are in the rest."""
NAMES = [name for name in PRESETS if "-tiny" in name or name.startswith("adapter")]
REST = [pytest.param(name, marks=pytest.mark.long) for name in NAMES if name not in SAMPLE]
QUERY = "a red ball in the kitchen"


@dataclass(frozen=True)
class Crossing:
    """A trained run, the splits of its data, and a folder for what the commands write."""

    config: TrainConfig
    run: Path
    data: Path
    out: Path

    @property
    def test(self) -> str:
        return str(self.data / "test")

    def does(self, command: str, *words: str, refused: type[VtrError] | None = None) -> None:
        """The command ends well, or as `refused`, with an error of one line."""
        if refused is None:
            run(command, words)
            return
        with pytest.raises(refused) as error:
            run(command, words)
        assert len(str(error.value).splitlines()) == 1


def small(name: str, data: Path, epochs: int = 2, workers: int = 0) -> TrainConfig:
    """Epochs of two steps, validated halfway and at the end."""
    config = preset(name)
    changes: dict[str, object] = {
        **{f"captions.{name}": None for name in config.captions.asked},  # the worlds' are as no preset asks
        **{f"concepts.{name}": None for name in config.concepts.asked},
        "batch.videos": Manifest.load(str(data / "train")).videos // STEPS_PER_EPOCH,
        "batch.clips_per_video": min(config.batch.clips_per_video, 2),
        "training.epochs": epochs,
        "training.log_every": 1,
        "training.validate_every": epochs // 2,
        "training.keep_checkpoints": 2,
        "scaling.workers": workers,
    }
    if getattr(config.loss, "granularity_margin", None) is not None and world_of(config) == "frames":
        changes["loss.granularity_margin.reading"] = "idf"  # a film has one caption
    if config.model.kind == "captioner" and world_of(config) == "tokens":
        changes |= {"model.feature": "video", "model.grid": 4}
    return override(config, changes)


@pytest.mark.parametrize("name", [*SAMPLE, *REST])
def test_a_preset_passes_through_every_command(
    name: str, worlds: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = worlds(world_of(preset(name)))
    crossing = Crossing(small(name, data), tmp_path / "run", data, tmp_path)
    train(crossing.config, TrainFlags(data=str(data), out=str(crossing.run)))
    found = losses(crossing.run)
    steps = len(found)
    assert steps >= 2 * STEPS_PER_EPOCH  # some presets take the rest of an epoch, too
    assert all(math.isfinite(loss) for loss in found)
    assert all(values.isfinite().all() for values in weights(crossing.run, steps).values())
    cut = cut_short(crossing.run, tmp_path / "cut", kept=1)
    resume(str(cut))
    assert_equal_runs(crossing.run, cut, steps)
    _evaluated(crossing, crossing.run)
    _used(crossing)
    _explained(crossing)
    if name not in SAMPLE:  # the analyses take as long as all the rest
        _analysed(crossing)
    _exported(crossing)
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLE)
def test_training_lowers_the_loss(name: str, worlds: Callable[[str], Path], tmp_path: Path) -> None:
    data = worlds(world_of(preset(name)))
    train(small(name, data, epochs=10), TrainFlags(data=str(data), out=str(tmp_path / "run")))
    found = losses(tmp_path / "run")
    assert sum(found[-4:]) < sum(found[:4])


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_worker_trains_what_the_process_itself_does(
    name: str, worlds: Callable[[str], Path], tmp_path: Path, local_ray: None
) -> None:
    data = worlds(world_of(preset(name)))
    for workers in (0, 1):
        train(small(name, data, workers=workers), TrainFlags(data=str(data), out=str(tmp_path / str(workers))))
    assert_equal_runs(tmp_path / "0", tmp_path / "1", len(losses(tmp_path / "0")))


def _evaluated(crossing: Crossing, model: Path) -> None:
    """The test set's figures are finite."""
    task = crossing.config.model.system().evaluation
    figures = crossing.out / f"figures-{model.name}.json"
    words = [str(model), "--task", task, "--data", crossing.test, "--out", str(figures)]
    crossing.does("evaluate", *words, *(["--no-meteor"] if task == "captioning" else []))
    numbers = list(_numbers(json.loads(figures.read_text())))
    assert numbers
    assert all(math.isfinite(number) for number in numbers)


def _numbers(value: Any) -> Iterator[float]:
    match value:
        case bool():
            return
        case int() | float():
            yield value
        case dict():
            for inner in value.values():
                yield from _numbers(inner)
        case list():
            for inner in value:
                yield from _numbers(inner)


def _cannot(config: TrainConfig) -> Mapping[str, type[VtrError]]:
    """The commands that refuse a model, with their errors."""
    if config.model.kind in ("captioner", "siamese"):
        return dict.fromkeys(("embed", "index", "search", "explain", "encode_text"), ConfigError)
    if getattr(config.model, "text", None) is not None and getattr(config.model.text, "kind", "") == "vectors":
        return dict.fromkeys(("search", "explain", "encode_text"), CheckpointError)
    if config.model.kind == "hybrid_encoder" and config.model.num_concepts is None:
        return {"explain": ConfigError, "causality": CheckpointError}
    return {}


def _used(crossing: Crossing) -> None:
    """Embedded, indexed and searched, or captioned."""
    model, out, cannot = str(crossing.run), crossing.out, _cannot(crossing.config)
    crossing.does(
        "embed", model, "--data", crossing.test, "--out", f"{out}/embedded", "--workers", "0",
        refused=cannot.get("embed"),
    )  # fmt: skip
    for shard in (out / "embedded").glob("**/*.parquet"):
        assert all(np.isfinite(values).all() for values in _vectors(pq.read_table(shard)))
    crossing.does("index", model, "--data", crossing.test, "--out", f"{out}/index", refused=cannot.get("index"))
    if "index" not in cannot:
        crossing.does("search", QUERY, "--index", f"{out}/index", "--k", "2", refused=cannot.get("search"))
        if crossing.config.model.system().reads_texts(crossing.config.model):
            crossing.does("search", "zyzzyva", "--index", f"{out}/index")  # a word that no caption has
    if crossing.config.model.kind == "captioner":
        crossing.does("caption", model, "--data", crossing.test, "--out", f"{out}/captions")


def _vectors(table: pa.Table) -> Iterator[np.ndarray]:
    for field in table.schema:
        if pa.types.is_fixed_size_list(field.type):
            yield table[field.name].combine_chunks().flatten().to_numpy(zero_copy_only=False)


def _explained(crossing: Crossing) -> None:
    model, out = str(crossing.run), crossing.out
    words = [model, "--data", crossing.test, "--query", QUERY, "--out", f"{out}/why"]
    crossing.does("explain", *words, refused=_cannot(crossing.config).get("explain"))
    if crossing.config.model.kind == "capsule_net":
        crossing.does("explain", model, "--capsules", "--data", crossing.test, "--out", f"{out}/capsules")


def _analysed(crossing: Crossing) -> None:
    """The concepts and spaces of a dual encoder."""
    if crossing.config.model.kind != "hybrid_encoder":
        return
    model, val, few = str(crossing.run), str(crossing.data / "val"), ["--captions-per-video", "1"]
    words = [model, "--data", val, "--test", crossing.test, *few, "--top-k", "1", "10", "--top-k-captions", "20"]
    refused = _cannot(crossing.config).get("causality")
    crossing.does("analyze", "causality", *words, "--out", f"{crossing.out}/causality", refused=refused)
    words = [model, "--data", crossing.test, *few, "--out", f"{crossing.out}/spaces"]
    crossing.does("analyze", "complementarity", *words)


def _exported(crossing: Crossing) -> None:
    """Exported, evaluated as before, and loaded in Python."""
    out = crossing.out / "exported"
    crossing.does("export", str(crossing.run), "--to", str(out))
    _evaluated(crossing, out)
    exported, trained = (
        json.loads((crossing.out / f"figures-{name}.json").read_text()) for name in (out.name, crossing.run.name)
    )
    assert list(_numbers(exported["sets"])) == list(_numbers(trained["sets"]))
    loaded = vtr_core.load(out, "cpu")
    refused = _cannot(crossing.config).get("encode_text")
    if refused is None:
        assert all(np.isfinite(vectors).all() for vectors in loaded.encode_text(QUERY).vectors.values())
        return
    with pytest.raises(refused):
        loaded.encode_text(QUERY)
