"""Damaged checkpoints and run folders, also with hashes that suit the damage, so that every parser is reached."""

import hashlib
import json
from functools import partial
from pathlib import Path
from random import Random

import pytest
import torch

from tests.fuzz.mutations import VALUES, change_value, damage, few_or_many, fuzz
from vtr_core.config.override import override
from vtr_core.losses.contrastive import build_objective
from vtr_core.run.build import build_model
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.all import SYSTEMS
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.checkpoint_files import (
    MARKER,
    VERSION,
    Checkpoint,
    Progress,
    load_checkpoint,
    save_checkpoint,
)
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord
from vtr_core.train.loop.learner import Learner

pytestmark = pytest.mark.linux  # memory_limit

CHECKPOINT = "checkpoints/step-00000007"
BINARY = ("model.safetensors", "optimizer.pt")
CONFIG = override(
    preset("capsule-howto-tiny"),
    {
        "model.inputs": {"features": {"video": 6, "audio": 4}, "num_words": 3, "word_dim": 5},
        "model.num_capsules": 2,
        "model.primary_dim": 2,
        "model.routing": {"kind": "self_attention", "pose_dim": 2, "mlp_dim": 2},
        "model.embedding_dim": 4,
        "model.words.hidden_dim": 4,
    },
)


def learner() -> Learner:
    torch.manual_seed(0)
    return Learner(build_model(CONFIG.model), build_objective(CONFIG.loss), CONFIG, lambda module: module)


def write(place: Path, step: int = 7) -> None:
    state = learner().state()
    progress, words = Progress(step=step), Vocabulary(("a", "b", "c"))
    save_checkpoint(locate(place), Checkpoint(CONFIG, progress=progress, vocabulary=words, **state))


def read(run: Path, restore: bool = True) -> None:
    """What evaluating and resuming do with the checkpoint of the run folder `run`."""
    load_model(str(run / CHECKPOINT))
    checkpoint = load_checkpoint(locate(run / CHECKPOINT), SYSTEMS)
    if restore:
        learner().restore(checkpoint, RunFolder.at(str(run)))


@pytest.fixture
def valid(tmp_path: Path) -> Path:
    write(tmp_path / "valid" / CHECKPOINT)
    read(tmp_path / "valid")
    return tmp_path / "valid"


def sign(folder: Path) -> None:
    """A marker whose hashes suit the files."""
    files = {file.name: file for file in folder.iterdir() if file.is_file() and file.name != MARKER}
    hashes = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
    (folder / MARKER).write_text(json.dumps({"version": VERSION, "files": hashes}))


@few_or_many
def test_damaged(valid: Path, seeds: range, tmp_path: Path) -> None:
    fuzz(valid, tmp_path, seeds, damage, read)


@few_or_many
@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "optimizer.pt", "progress.json", "vocabulary.json", "provenance.json"]
)
def test_damaged_and_signed(name: str, valid: Path, seeds: range, tmp_path: Path) -> None:
    def change(root: Path, random: Random) -> str:
        place = root / CHECKPOINT
        if name == "model.safetensors" and random.random() < 0.6:
            _safetensors_header(place / name, random)
        elif name == "optimizer.pt" and random.random() < 0.6:
            _training_state(place / name, random)
        else:
            damage(root, random, lambda file: file.name == name)
        if place.is_dir():
            sign(place)
        return name

    fuzz(valid, tmp_path, seeds, change, partial(read, restore=name in BINARY))


def _safetensors_header(file: Path, random: Random) -> None:
    """Another type, shape or place of one tensor, or another length of the header."""
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, values = json.loads(content[8 : 8 + length]), content[8 + length :]
    if random.random() < 0.2:
        false = random.choice([0, 1, length - 1, length + 1, 2**31, 2**40, 2**63, 2**64 - 1])
        file.write_bytes(false.to_bytes(8, "little") + content[8:])
        return
    if random.random() < 0.3:
        item = random.choice(list(header.values()))
        item["shape"] = random.choice([[10**12], [2**62, 4], [-1], [0], [1.5], ["x"], [], [10**30], [[2]]])
    elif random.random() < 0.5:
        random.choice(list(header.values()))["dtype"] = random.choice(["F64", "F16", "BOOL", "I8", "F8_E4M3", "Q", 3])
    else:
        change_value(header, random)
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + values)


def _training_state(file: Path, random: Random) -> None:
    """Other values at a random place of the optimiser's state."""
    state = torch.load(file, weights_only=True)
    change_value(state, random)
    if random.random() < 0.3:
        state = random.choice([*VALUES, torch.zeros(3), [state]])
    torch.save(state, file)


@few_or_many
def test_run_folder(seeds: range, tmp_path: Path) -> None:
    """What `vtr train --resume` and `vtr evaluate RUN` read before anything starts."""
    folder = RunFolder.at(str(tmp_path / "valid"))
    folder.claim(RunRecord("data", None, "f", "sqlite:///x", "vtr"), CONFIG)
    write(tmp_path / "valid" / CHECKPOINT)
    (tmp_path / "valid" / "checkpoints" / "best.json").write_text('{"checkpoint": "step-00000007", "value": 1.0}')

    def resume(root: Path) -> None:
        folder = RunFolder.at(str(root))
        folder.read(SYSTEMS)
        folder.latest(SYSTEMS)
        load_model(str(root))

    def is_of_the_run(file: Path) -> bool:
        return file.suffix == ".json" and file.parent.name != "step-00000007"

    resume(tmp_path / "valid")
    fuzz(tmp_path / "valid", tmp_path, seeds, partial(damage, only=is_of_the_run), resume)
