"""`st:` against sentence-transformers itself: MiniLM's real weights, and a small multimodal model."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from sentence_transformers import SentenceTransformer

from tests.builders import pretrained
from vtr_core.encoders.bundled import MINILM
from vtr_core.encoders.encoder import encoder
from vtr_core.errors import CheckpointError, ConfigError, VtrError

TEXTS = ["A dog runs in a garden.", "someone lifting a barbell", "", "Ein Hund läuft."]


@pytest.fixture(scope="module")
def minilm() -> str:
    return str(MINILM.find().parent)


def test_minilm_is_the_librarys_own(minilm: str) -> None:
    made, library = encoder(f"st:{minilm}"), SentenceTransformer(minilm, device="cpu")
    assert (made.dim, made.token_dim) == (384, 384)
    np.testing.assert_allclose(made.encode_text(TEXTS), library.encode(TEXTS), atol=1e-5)
    tokens = made.encode_tokens(TEXTS)
    for place, expected in enumerate(library.encode(TEXTS, output_value="token_embeddings")):
        torch.testing.assert_close(tokens.vectors[place][tokens.mask[place]], expected, atol=1e-5, rtol=0)
    assert made.encode_text([]).shape == (0, 384)


def test_pictures_of_a_multimodal_model_are_the_librarys_own(tmp_path: Path) -> None:
    library = pretrained.save_multimodal_sentences(tmp_path / "st")
    made = encoder(f"st:{tmp_path / 'st'}")
    assert (made.dim, made.token_dim) == (24, None)
    texts = library.encode(["a dog", "red car"])
    np.testing.assert_allclose(made.encode_text(["a dog", "red car"]), unit(texts), atol=1e-5)
    for height, width in ((40, 64), (31, 28)):
        frames = np.random.default_rng(height).integers(0, 256, (10, height, width, 3), np.uint8)
        expected = unit(library.encode([Image.fromarray(frame) for frame in frames]))
        np.testing.assert_allclose(made.encode_frames(frames), expected, atol=1e-5)
    with pytest.raises(ConfigError, match="gives no vectors of tokens"):
        made.encode_tokens(["a"])


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_what_is_no_model_is_told_in_one_line(tmp_path: Path) -> None:
    pretrained.save_clip(tmp_path / "broken")
    (tmp_path / "broken" / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match="is no model that sentence-transformers loads"):
        encoder(f"st:{tmp_path / 'broken'}")
    with pytest.raises(VtrError, match="there is no folder"):
        encoder(f"st:{tmp_path / 'none'}")
