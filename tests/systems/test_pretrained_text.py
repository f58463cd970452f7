"""Captions by a pretrained encoder in the papers' systems: which one, what it reaches, and what needs what of it."""

from pathlib import Path

import pytest
import torch

from tests.builders.made_batch import made_signal
from tests.builders.tiny_encoder import tiny_encoder
from vtr_core.config.override import override
from vtr_core.encoders.encoder import _loaded, encoder
from vtr_core.encoders.frozen_text import FrozenText, encoder_record, read_record
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.run.build import build_model
from vtr_core.run.presets import preset
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary

CAPSULES, HYBRID, MUSE = (f"{name}-text" for name in ("capsule-howto-tiny", "hybrid-msrvtt-tiny", "muse-msrvtt-tiny"))
SETTING = {CAPSULES: "model.words.encoder", HYBRID: "model.text_encoder", MUSE: "model.text.encoder"}


@pytest.fixture(scope="module")
def name(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_encoder(tmp_path_factory.mktemp("encoder"))


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
    found = model.encode_text(torch.from_numpy(Vocabulary.utf8().encode_all(texts, TEXT_BYTES)).long())
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
