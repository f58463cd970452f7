"""`vtr import hybrid_space`: what the imported model computes is what the published names mean."""

import argparse
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import vtr_core
from pipelines.cli import run
from tests.reference import hybrid_space as published
from tests.security.payload import Payload
from vtr_core.errors import CheckpointError, InputError

WORDS, CONCEPTS = ("zebra", "a", "runs", "dog"), ("dog", "run", "zebra")
FRAME_DIM, HIDDEN, FILTERS, LATENT, WORD_DIM = 5, 3, 4, 6, 7
CAPTION = "A dog runs, a zebra"


def encoder(dim: int, widths: tuple[int, ...]) -> dict[str, Tensor]:
    gru = torch.nn.GRU(dim, HIDDEN, batch_first=True, bidirectional=True)
    found = {f"rnn.{name}": tensor for name, tensor in gru.state_dict().items()}
    for i, width in enumerate(widths):
        convolution = torch.nn.Conv2d(1, FILTERS, (width, 2 * HIDDEN))
        found |= {f"convs1.{i}.{name}": tensor for name, tensor in convolution.state_dict().items()}
    return found


def heads(in_dim: int) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for linear, norm, dim in (("mapping.fc1", "mapping.bn_1", LATENT), ("tag_fc", "tag_fc_batch_norm", len(CONCEPTS))):
        found |= {f"{linear}.{name}": t for name, t in torch.nn.Linear(in_dim, dim).state_dict().items()}
        found |= {
            f"{norm}.weight": torch.rand(dim) + 0.5, f"{norm}.bias": torch.randn(dim),
            f"{norm}.running_mean": torch.randn(dim), f"{norm}.running_var": torch.rand(dim) + 0.5,
            f"{norm}.num_batches_tracked": torch.tensor(3),
        }  # fmt: skip
    return found


@pytest.fixture(scope="module")
def parts() -> list[dict[str, Tensor]]:
    torch.manual_seed(3)
    text = {**encoder(WORD_DIM, (2, 3)), "embed.weight": torch.randn(4 + len(WORDS), WORD_DIM)}
    video = encoder(FRAME_DIM, (2, 3))
    levels = 2 * HIDDEN + 2 * FILTERS
    return [video, text, heads(FRAME_DIM + levels), heads(len(WORDS) + levels)]


@pytest.fixture(scope="module")
def home(parts: list[dict[str, Tensor]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("published")
    options = argparse.Namespace(text_kernel_sizes=[2, 3], measure_2="jaccard")
    torch.save({"epoch": 3, "model": parts, "best_rsum": 100.5, "opt": options, "Eiters": 9}, place / "best.pth.tar")
    (place / "words.txt").write_text("\n".join(WORDS))
    (place / "tags.json").write_text(json.dumps(CONCEPTS))
    return place


def taken(home: Path, out: Path, **changed: Any) -> vtr_core.Model:
    flags = {"words": home / "words.txt", "concepts": home / "tags.json", "max_words": 5, **changed}
    words = [str(word) for name, value in flags.items() for word in (f"--{name.replace('_', '-')}", value)]
    run("import", ["hybrid_space", str(home / "best.pth.tar"), "--out", str(out), *words])
    return vtr_core.load(out, "cpu")


def test_the_model_computes_what_the_published_names_mean(
    home: Path, parts: list[dict[str, Tensor]], tmp_path: Path
) -> None:
    model = taken(home, tmp_path / "c")
    assert model.concepts == CONCEPTS
    frames = torch.randn(4, FRAME_DIM).half().float()
    seen = model.encode_video([frames.numpy()])
    latent, concept = published.spaces(parts[0], parts[2], frames, frames.mean(dim=0))
    np.testing.assert_allclose(seen.vectors["latent"][0], latent, atol=1e-5)
    np.testing.assert_allclose(seen.vectors["concept"][0], concept, atol=1e-5)
    places = [WORDS.index(word) for word in CAPTION.lower().replace(",", "").split()]
    sequence = parts[1]["embed.weight"][[1, *(4 + place for place in places), 2]]
    counts = published.text_level_1(places, len(WORDS))
    told = model.encode_text(CAPTION)
    latent, concept = published.spaces(parts[1], parts[3], sequence, counts)
    np.testing.assert_allclose(told.vectors["latent"][0], latent, atol=1e-5)
    np.testing.assert_allclose(told.vectors["concept"][0], concept, atol=1e-5)


def test_an_unknown_word_is_read_and_not_counted(home: Path, parts: list[dict[str, Tensor]], tmp_path: Path) -> None:
    model = taken(home, tmp_path / "c", max_words=2)
    sequence = parts[1]["embed.weight"][[1, 4 + WORDS.index("dog"), 3, 2]]
    counts = published.text_level_1([WORDS.index("dog")], len(WORDS))
    told = model.encode_text("dog xylophone")
    latent, _ = published.spaces(parts[1], parts[3], sequence, counts)
    np.testing.assert_allclose(told.vectors["latent"][0], latent, atol=1e-5)


def test_a_file_that_holds_more_than_values_is_refused(home: Path, tmp_path: Path) -> None:
    place, marker = tmp_path / "home", tmp_path / "loaded"
    place.mkdir()
    asked = ["hybrid_space", str(place / "best.pth.tar"), "--words", str(home / "words.txt"), "--out", str(tmp_path)]
    for content in (pickle.dumps(Payload(marker)), b"no checkpoint"):
        (place / "best.pth.tar").write_bytes(content)
        with pytest.raises(CheckpointError, match=r"best\.pth\.tar is no checkpoint that holds tensors and plain"):
            run("import", asked)
    torch.save({"model": Payload(marker)}, place / "best.pth.tar")
    with pytest.raises(CheckpointError, match="tensors and plain values alone"):
        run("import", asked)
    assert not marker.exists()


def test_what_does_not_fit_is_said(home: Path, parts: list[dict[str, Tensor]], tmp_path: Path) -> None:
    (tmp_path / "few.txt").write_text("dog\ncat")
    with pytest.raises(InputError, match=r"few\.txt has 2 words, 2 different ones; the model has 4"):
        taken(home, tmp_path / "c", words=tmp_path / "few.txt")
    (tmp_path / "few.json").write_text('["dog"]')
    with pytest.raises(InputError, match="no list of 3 different names"):
        taken(home, tmp_path / "c", concepts=tmp_path / "few.json")
    lacking = [{name: t for name, t in part.items() if name != "rnn.bias_hh_l0"} for part in parts]
    torch.save({"model": lacking}, tmp_path / "best.pth.tar")
    words = ["--words", str(home / "words.txt"), "--concepts", str(home / "tags.json"), "--out", str(tmp_path / "c")]
    with pytest.raises(CheckpointError, match=r"frames\.levels\.gru\.bias_hh_l0 is missing"):
        run("import", ["hybrid_space", str(tmp_path / "best.pth.tar"), *words])
