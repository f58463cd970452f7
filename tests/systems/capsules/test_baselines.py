import pytest
import torch

from tests.builders.clip_batches import INPUTS, clips
from tests.reference import baselines as reference
from vtr_core.config.data_sets import WordEncoderConfig
from vtr_core.config.override import ModelInputs
from vtr_core.run.build import build_model
from vtr_core.systems.capsules.config import FullyConnectedConfig, SelfAttentionBaselineConfig

SHARED = {"inputs": INPUTS, "words": WordEncoderConfig(hidden_dim=12), "embedding_dim": 16}


def _inputs(model, batch):
    """The vector that each modality begins with, in rows that have it."""
    return {"text": model.inputs.words(batch.tokens), **{name: f.double() for name, f in batch.features.items()}}


def test_fully_connected_equals_slow_code():
    torch.manual_seed(0)
    model, batch = build_model(FullyConnectedConfig(hidden_dim=20, **SHARED)).double(), clips()
    embedded = model(batch).vectors
    for name, values in _inputs(model, batch).items():
        for row, vector in enumerate(values):
            expected = reference.fully_connected(model.layers[name], vector)
            torch.testing.assert_close(embedded[name][row], expected, atol=1e-9, rtol=0)


def test_a_gated_unit_equals_slow_code():
    torch.manual_seed(0)
    model, batch = build_model(FullyConnectedConfig(layers="gated_unit", **SHARED)).double(), clips()
    embedded = model(batch).vectors
    for name, values in _inputs(model, batch).items():
        expected = reference.gated_unit(model.layers[name], values[0])
        torch.testing.assert_close(embedded[name][0], expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("num_tokens", [1, 3, 4, 16])
@pytest.mark.parametrize("num_heads", [1, 2])
def test_token_attention_equals_slow_code(num_tokens, num_heads):
    """The dimensions 10, 7 and 12 are cut into as many tokens evenly, with padding, and one value or none each."""
    torch.manual_seed(0)
    config = SelfAttentionBaselineConfig(num_tokens=num_tokens, attention_dim=6, num_heads=num_heads, **SHARED)
    model, batch = build_model(config).double(), clips()
    embedded = model(batch).vectors
    for name, values in _inputs(model, batch).items():
        for row, vector in enumerate(values):
            expected = reference.token_attention(model.attention[name], vector)
            torch.testing.assert_close(embedded[name][row], expected, atol=1e-9, rtol=0)


def test_the_published_inputs_are_cut_into_128_tokens():
    inputs = ModelInputs(features={"video": 4096, "audio": 1024}, num_words=10)
    with torch.device("meta"):
        attention = build_model(SelfAttentionBaselineConfig(inputs=inputs)).attention
    widths = {name: module.embed.in_features for name, module in attention.items()}
    assert widths == {"text": 32, "video": 32, "audio": 8}
    assert {module.linear.in_features for module in attention.values()} == {128 * 32}
