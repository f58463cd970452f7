"""Sizes that a checkpoint or a manifest states, which no weight or file confirms, are bounded."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.toy import toy_dataset
from tests.fuzz.oracle import memory_limit
from tests.fuzz.test_checkpoints import CHECKPOINT, sign, write
from vtr_core.config.pretrained import JointRecord
from vtr_core.data.manifest import Manifest
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.train.checkpoint import load_model

pytestmark = pytest.mark.linux  # memory_limit


@pytest.mark.parametrize(
    ("name", "value"), [("inputs.max_words", 10**7), ("inputs.num_words", 10**9), ("words.hidden_dim", 10**9)]
)
def test_a_checkpoints_sizes_are_those_of_its_weights(name: str, value: int, tmp_path: Path) -> None:
    """A caption of ten million words took 12 GB at the first query."""
    write(tmp_path / CHECKPOINT)
    file = tmp_path / CHECKPOINT / "config.json"
    config = json.loads(file.read_text())
    node: Any = config["model"]
    *above, last = name.split(".")
    for part in above:
        node = node[part]
    assert last in node
    node[last] = value
    file.write_text(json.dumps(config))
    sign(tmp_path / CHECKPOINT)
    with memory_limit(1 << 28), pytest.raises(CheckpointError):
        load_model(str(tmp_path / CHECKPOINT))


@pytest.mark.parametrize(
    "architecture", [{"vision_config": {"num_hidden_layers": 10**7}}, {"depths": [2, 10**7]}, {"n_layers": 10**7}]
)
def test_an_architecture_has_no_million_layers(architecture: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at most 1024 are built"):
        JointRecord(
            source="hf:x",
            fingerprint="0" * 64,
            architecture=architecture,
            tokenizer_bytes=1,
            mean=(0, 0, 0),
            deviation=(1, 1, 1),
        )


@pytest.mark.parametrize("what", ["rows", "words"])
def test_a_manifest_says_no_more_than_its_files_hold(what: str, tmp_path: Path) -> None:
    toy_dataset(tmp_path / "toy")
    file = tmp_path / "toy" / "manifest.json"
    value = json.loads(file.read_text())
    value.pop("fingerprint")
    if what == "rows":
        value["shards"][0].update(rows=10**10, row_groups=[str(10**10)])
    else:
        value["max_words"] = 10**7
    file.write_text(json.dumps({**value, "fingerprint": fingerprint(value)}))
    with pytest.raises(DatasetError, match=r"rows in|at most 4096 are read"):
        Manifest.load(str(tmp_path / "toy"))
