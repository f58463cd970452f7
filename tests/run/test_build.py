"""What every model of a joint space keeps to."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from tests.builders.clip_batches import INPUTS, ROWS, clips
from vtr_core.config.data_sets import WordEncoderConfig
from vtr_core.config.losses import InfoNceConfig, MaskedMarginSoftmaxConfig
from vtr_core.config.override import ModelInputs
from vtr_core.config.towers import (
    DynamicRouting,
    EmRouting,
    NoRouting,
    SelfAttentionRouting,
    SetTransformerRouting,
)
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.errors import ConfigError
from vtr_core.losses.contrastive import build_objective
from vtr_core.run.build import build_model
from vtr_core.systems.capsules.config import CapsuleNetConfig, FullyConnectedConfig, SelfAttentionBaselineConfig

SHARED = {"inputs": INPUTS, "words": WordEncoderConfig(hidden_dim=12), "embedding_dim": 16}
MODELS = {
    f"capsule_net, {routing.kind}": CapsuleNetConfig(num_capsules=4, primary_dim=4, routing=routing, **SHARED)
    for routing in (
        SelfAttentionRouting(pose_dim=8, mlp_dim=16, num_heads=2),
        NoRouting(pose_dim=8, mlp_dim=16),
        DynamicRouting(pose_dim=8),
        EmRouting(pose_dim=4),
        SetTransformerRouting(pose_dim=8),
    )
}
MODELS["fully_connected"] = FullyConnectedConfig(hidden_dim=20, **SHARED)
MODELS["gated_unit"] = FullyConnectedConfig(layers="gated_unit", **SHARED)
MODELS["self_attention_baseline"] = SelfAttentionBaselineConfig(num_tokens=4, attention_dim=6, num_heads=2, **SHARED)

QUICK = ("capsule_net, self_attention", "fully_connected", "self_attention_baseline")
"""Those of a hundred steps that `make test` has time for."""


def _model(name, **changes):
    torch.manual_seed(0)
    return build_model(MODELS[name].model_copy(update=changes))


def _loss(embeddings, batch, loss):
    return build_objective(loss)(embeddings, batch.keys, 0).total


@pytest.mark.parametrize("name", list(MODELS))
def test_every_modality_has_a_vector_and_its_presence(name):
    embeddings = _model(name)(clips(no_audio=(1, 2), no_text=(5,)))
    assert set(embeddings.vectors) == set(embeddings.present) == {"text", "video", "audio"}
    for vectors in embeddings.vectors.values():
        assert vectors.shape == (ROWS, 16)
        assert vectors.dtype == torch.float32
    assert embeddings.present["audio"].tolist() == [True, False, False, True, True, True]
    assert embeddings.present["text"].tolist() == [True] * 5 + [False]
    assert embeddings.candidates is None


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("changes", [{}, {"normalize": True}, {"standardize": True, "input_dropout": 0.3}])
def test_a_missing_modality_is_exactly_zero_whatever_was_stored(name, changes):
    model, batch = _model(name, **changes).eval(), clips(no_audio=(1, 2), no_text=(5,))
    embeddings = model(batch)
    assert (embeddings.vectors["audio"][[1, 2]] == 0).all()
    assert (embeddings.vectors["text"][5] == 0).all()
    batch.features["audio"][[1, 2]] = torch.nan
    for modality, vectors in model(batch).vectors.items():
        assert torch.equal(vectors, embeddings.vectors[modality])


@pytest.mark.parametrize("name", list(MODELS))
def test_normalised_embeddings_have_length_one(name):
    embeddings = _model(name, normalize=True)(clips(no_audio=(1,), no_text=(0,), extra=2))
    torch.testing.assert_close(embeddings.vectors["audio"].norm(dim=1), torch.tensor([1.0, 0, 1, 1, 1, 1]))
    assert embeddings.candidates is not None
    expected = torch.tensor([0.0, 1, 1, 1, 1, 1]).unsqueeze(1).expand(ROWS, 2)
    torch.testing.assert_close(embeddings.candidates.norm(dim=2), expected)


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("share_weights", [True, False])
def test_candidates_are_embedded_as_captions_are(name, share_weights):
    model = _model(name, **({"share_weights": share_weights} if "capsule" in name else {})).eval()
    batch = clips(no_text=(3,), extra=2)
    embeddings, alone = model(batch), model(clips(no_text=(3,)))
    assert embeddings.candidates is not None
    assert embeddings.candidates.shape == (ROWS, 2, 16)
    assert (embeddings.candidates[3] == 0).all()
    for modality, vectors in alone.vectors.items():
        torch.testing.assert_close(embeddings.vectors[modality], vectors)
    for extra in range(2):
        swapped = clips()
        swapped.tokens.copy_(batch.candidate_tokens[:, extra])
        torch.testing.assert_close(embeddings.candidates[:, extra], model(swapped).vectors["text"])


def _every_batch():
    for name in MODELS:
        for loss in (MaskedMarginSoftmaxConfig(), InfoNceConfig()):
            for no_audio, no_text in (((), ()), (range(ROWS), ()), (range(ROWS), range(ROWS))):
                for changes in (
                    {},
                    {"normalize": True},
                    {"standardize": True, "words": WordEncoderConfig(hidden_dim=12, pooling="max_mean", dropout=0.2)},
                ):
                    yield name, loss, no_audio, no_text, changes


@pytest.mark.parametrize(("name", "loss", "no_audio", "no_text", "changes"), list(_every_batch()))
def test_every_parameter_gets_a_finite_gradient_in_every_batch(name, loss, no_audio, no_text, changes):
    model, batch = _model(name, **changes), clips(tuple(no_audio), tuple(no_text))
    batch.features["audio"][list(no_audio)] = torch.nan
    _loss(model(batch), batch, loss).backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name


@pytest.mark.parametrize("name", list(MODELS))
def test_rows_do_not_influence_each_other(name):
    model, batch = _model(name).eval(), clips(no_audio=(1,), extra=2)
    together, pieces = model(batch), [model(piece) for piece in batch.split(1)]
    for row, alone in enumerate(pieces):
        for modality, vectors in alone.vectors.items():
            torch.testing.assert_close(vectors[0], together.vectors[modality][row])
        torch.testing.assert_close(alone.candidates[0], together.candidates[row])


def _statistics() -> dict[str, FeatureStatistics]:
    rng = np.random.default_rng(0)
    return {
        name: FeatureStatistics(rng.normal(size=dim).astype(np.float32), rng.uniform(0.5, 2, dim).astype(np.float32))
        for name, dim in INPUTS.features.items()
    }


@pytest.mark.parametrize("name", list(MODELS))
def test_a_model_read_back_standardises_as_before(name):
    config, vectors = MODELS[name].model_copy(update={"standardize": True}), np.ones((9, 4), np.float32)
    model, read = build_model(config, vectors, _statistics()).eval(), build_model(config).eval()
    assert not model.inputs.words.vectors.weight.requires_grad
    read.load_state_dict(model.state_dict())
    for modality, embedded in model(clips()).vectors.items():
        assert torch.equal(read(clips()).vectors[modality], embedded)


@pytest.mark.parametrize("name", list(MODELS))
def test_precision_follows_the_parameters_and_autocast(name):
    assert _model(name).double()(clips()).vectors["video"].dtype == torch.float64
    model = _model(name).eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = model(clips()).vectors["video"]
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, model(clips()).vectors["video"], atol=0.1, rtol=0.1)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in MODELS]
)
def test_it_learns_to_match_its_batch(name):
    model, batch = _model(name, normalize=True), clips()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(100):
        loss = _loss(model(batch), batch, InfoNceConfig())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize(("features", "message"), [({}, "is empty"), ({"text": 3}, "captions' modality")])
def test_inputs_that_make_no_model_are_errors(name, features, message):
    with pytest.raises(ConfigError, match=message):
        _model(name, inputs=ModelInputs(features=features))


@pytest.mark.long
def test_a_model_is_checked_without_torchs_compiler():
    """Its import takes more than a second, which every command that loads a model would wait for."""
    code = """
import sys
from vtr_core.config.override import override
from vtr_core.run.build import check_model
from vtr_core.run.presets import preset
for name in sys.argv[1:]:
    model = preset(name).model
    features = dict(model.system().usual_features(model))
    given = {"model.inputs.features": features, "model.inputs.num_words": 9, "model.inputs.max_words": 20}
    assert check_model(override(preset(name), given if features else {}).model)
    print(name, "torch._dynamo" in sys.modules)
"""
    bases = ("capsule-howto", "hybrid-msrvtt", "muse-msrvtt", "muse-tokens", "caption-msrvtt")
    names = [*(f"{base}-tiny" for base in bases), "siamese-att"]
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{name} False" for name in names], done.stderr
