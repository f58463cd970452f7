"""Captions by a pretrained encoder in the papers' systems: trained, resumed, evaluated, and searched in new words."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from pipelines.cli import run
from pipelines.train.command import TrainFlags, train
from tests.builders.made_batch import made_signal
from tests.builders.tiny_encoder import tiny_encoder
from tests.builders.toy import toy_dataset, toy_videos
from tests.drills.runs import assert_equal_weights, cut_short, losses
from vtr_core.config.override import override
from vtr_core.encoders.encoder import _loaded, encoder
from vtr_core.encoders.frozen_text import FrozenText, encoder_record, read_record
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary

CAPSULES, HYBRID, MUSE = (f"{name}-text" for name in ("capsule-howto-tiny", "hybrid-msrvtt-tiny", "muse-msrvtt-tiny"))
SETTING = {CAPSULES: "model.words.encoder", HYBRID: "model.text_encoder", MUSE: "model.text.encoder"}
SMALL: Mapping[str, Mapping[str, object]] = {
    CAPSULES: {"model.num_capsules": 2, "model.embedding_dim": 8, "model.words.hidden_dim": 8},
    HYBRID: {"model.num_concepts": None, "model.latent_dim": 8},
    MUSE: {"model.token_dim": 16},
}
NEW_WORDS = "zyzzyva quux"
"""Words that no caption of the toys has."""


@pytest.fixture(scope="module")
def name(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_encoder(tmp_path_factory.mktemp("encoder"))


def configured(base: str, name: str, **changes: object) -> TrainConfig:
    sizes = {"batch.videos": 4, "batch.clips_per_video": 1, "scaling.workers": 0, "evaluation.batch_rows": 8}
    settings = {"training.epochs": 3, "training.log_every": 1, "training.validate_every": 1}
    kept = {"training.keep_checkpoints": 9, SETTING[base]: name}
    return override(preset(base), {**sizes, **settings, **kept, **SMALL[base], **changes})


def data_of(base: str, folder: Path) -> str:
    if base == CAPSULES:
        return toy_dataset(folder, clips_of=[3] * 8)[0].uri
    return toy_videos(folder, frames_of=(3, 1, 4, 2, 5, 2, 3, 4)).uri


@pytest.mark.parametrize("base", SETTING)
def test_it_is_trained_resumed_and_searched_in_words_that_no_caption_has(
    base: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = data_of(base, tmp_path / "data"), tmp_path / "run"
    done = train(configured(base, name), TrainFlags(data=data, validation=data, out=str(out)))
    record = json.loads((out / "config.json").read_text())["model"]
    for part in SETTING[base].split(".")[1:]:
        record = record[part]
    assert record["fingerprint"] == encoder(name).fingerprint
    assert losses(out)

    last = sorted(out.glob("checkpoints/step-*"))[-1]
    cut = cut_short(out, tmp_path / "cut", kept=1)
    run("train", ["--resume", str(cut)])
    assert_equal_weights(out, cut, int(last.name.removeprefix("step-")))

    run("evaluate", [done.checkpoint, "--data", data])
    run("index", [done.checkpoint, "--data", data, "--out", str(tmp_path / "index")])
    capsys.readouterr()
    run("search", [NEW_WORDS, "--index", str(tmp_path / "index"), "--k", "2", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert len(found["hits"]) == 2
    assert found["not_known"] == []


def test_another_encoder_of_its_name_is_refused(tmp_path: Path) -> None:
    name = tiny_encoder(tmp_path)
    record = encoder_record(encoder(name))
    texts = torch.from_numpy(Vocabulary.utf8().encode_all(["a new text"], TEXT_BYTES)).long()
    FrozenText(record)(texts)
    tiny_encoder(tmp_path, seed=1)
    _loaded.cache_clear()
    with pytest.raises(CheckpointError, match="fingerprint"):
        FrozenText(record).tokens(texts)
    with pytest.raises(CheckpointError, match="fingerprint"):
        read_record(record)


def test_the_fourth_level_reaches_both_spaces_and_needs_no_known_word(name: str) -> None:
    record = encoder_record(encoder(name)).model_dump()
    sizes = {"model.inputs.features": {"video": 3}, "model.inputs.num_words": 4, "model.text_encoder": record}
    config = override(preset(HYBRID), {**sizes, "model.latent_dim": 6, "model.num_concepts": 5})
    torch.manual_seed(0)
    model = build_model(config.model).eval()
    words = Vocabulary(("a", "b", "c", "d")).with_texts()
    tokens = torch.from_numpy(words.encode_all(["a b", "b a", "zyzzyva", "  "], 3)).long()
    assert tokens.shape == (4, 3 + TEXT_BYTES)
    found = model.text(tokens)
    assert model.known(tokens).tolist() == [True, True, True, False]
    for space in (found.latent, found.concept_scores):
        assert space[2].any(), "a text without a known word has a vector"
        assert not space[3].any()
        assert not torch.equal(space[0], space[1])


@pytest.mark.parametrize(("dim", "learned"), [(16, False), (8, True)])
def test_muse_takes_vectors_as_they_are_where_dimensions_agree(name: str, dim: int, learned: bool) -> None:
    record = encoder_record(encoder(name)).model_dump()
    inputs = {"model.inputs.features": {"video": 5}, "model.token_dim": dim}
    model = build_model(override(preset(MUSE), {**inputs, "model.text.encoder": record}).model).eval()
    texts = ["a dog", "", "two dogs"]
    found = model.text(torch.from_numpy(Vocabulary.utf8().encode_all(texts, TEXT_BYTES)).long())
    assert (model.words.linear is not None) == learned
    assert not found[1].any()
    if not learned:
        torch.testing.assert_close(found[[0, 2]], torch.from_numpy(encoder(name).encode_text(["a dog", "two dogs"])))


def test_capsules_need_vectors_of_tokens(name: str) -> None:
    record = encoder_record(encoder(name)).model_copy(update={"token_dim": None}).model_dump()
    config = override(preset(CAPSULES), {"model.inputs.features": {"video": 3}, "model.words.encoder": record})
    with pytest.raises(ConfigError, match="no vectors of tokens"):
        build_model(config.model)


@pytest.mark.parametrize("base", SETTING)
def test_made_captions_are_read_by_bundled(base: str) -> None:
    """Other captions have other vectors, and every layer a gradient."""
    found = made_signal(preset(base), "standardized", 8)
    assert all(share > 0.01 for name, share in found.shares.items() if name.startswith("text"))
    assert all(found.gradients.values())
