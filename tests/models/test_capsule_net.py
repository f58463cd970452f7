import numpy as np
import pytest
import torch

from vtr_core.config.loss import InfoNceConfig, MaskedMarginSoftmaxConfig
from vtr_core.config.model import CapsuleNetConfig, ModelInputs, NoRouting, SelfAttentionRouting, WordEncoderConfig
from vtr_core.data.batch import ClipBatch
from vtr_core.data.statistics import FeatureStatistics
from vtr_core.errors import ConfigError
from vtr_core.losses.pairs import modality_pair_losses
from vtr_core.models.build import build_model
from vtr_core.models.capsule_net import CapsuleNet

ROWS = 6
CONFIG = CapsuleNetConfig(
    inputs=ModelInputs(features={"video": 10, "audio": 7}, num_words=9, word_dim=4, max_words=5),
    num_capsules=4,
    primary_dim=3,
    routing=SelfAttentionRouting(pose_dim=8, mlp_dim=16, num_heads=2),
    words=WordEncoderConfig(hidden_dim=12),
    embedding_dim=16,
)


def _model(**changes) -> CapsuleNet:
    torch.manual_seed(0)
    return build_model(CONFIG.model_copy(update=changes))


def _batch(no_audio=(), no_text=(), rows=ROWS) -> ClipBatch:
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(1, 10, (rows, 5), generator=generator)
    tokens[list(no_text)] = 0
    return ClipBatch(
        features={
            "video": torch.randn(rows, 10, generator=generator).half(),
            "audio": torch.randn(rows, 7, generator=generator).half(),
        },
        present={
            "video": torch.ones(rows, dtype=torch.bool),
            "audio": torch.tensor([row not in no_audio for row in range(rows)]),
        },
        tokens=tokens,
        clip_key=torch.arange(rows),
        video_key=torch.arange(rows) // 2,
        caption_key=torch.arange(rows),
    )


def test_every_modality_has_a_vector_and_its_presence():
    embeddings = _model()(_batch(no_audio=(1, 2), no_text=(5,)))
    assert set(embeddings.vectors) == set(embeddings.present) == {"text", "video", "audio"}
    for vectors in embeddings.vectors.values():
        assert vectors.shape == (ROWS, 16)
        assert vectors.dtype == torch.float32
    assert embeddings.present["audio"].tolist() == [True, False, False, True, True, True]
    assert embeddings.present["text"].tolist() == [True] * 5 + [False]


@pytest.mark.parametrize("normalize", [False, True])
def test_a_missing_modality_is_exactly_zero_whatever_was_stored(normalize):
    model, batch = _model(normalize=normalize).eval(), _batch(no_audio=(1, 2), no_text=(5,))
    embeddings = model(batch)
    assert (embeddings.vectors["audio"][[1, 2]] == 0).all()
    assert (embeddings.vectors["text"][5] == 0).all()
    batch.features["audio"][[1, 2]] = torch.nan
    for name, vectors in model(batch).vectors.items():
        assert torch.equal(vectors, embeddings.vectors[name])


def test_normalised_embeddings_have_length_one():
    embeddings = _model(normalize=True)(_batch(no_audio=(1,)))
    lengths = embeddings.vectors["audio"].norm(dim=1)
    torch.testing.assert_close(lengths, torch.tensor([1.0, 0, 1, 1, 1, 1]))


@pytest.mark.parametrize("share_weights", [True, False])
def test_weights_behind_the_primary_capsules_are_shared_or_not(share_weights):
    model = _model(share_weights=share_weights)
    heads = ["shared"] if share_weights else ["text", "video", "audio"]
    assert list(model.routing) == list(model.projection) == heads
    assert list(model.primary) == ["text", "video", "audio"]


def _every_variant():
    for loss in (MaskedMarginSoftmaxConfig(), InfoNceConfig()):
        for no_audio, no_text in (((), ()), (range(ROWS), ()), (range(ROWS), range(ROWS))):
            for changes in (
                {},
                {"share_weights": False},
                {"normalize": True},
                {"routing": NoRouting(pose_dim=8)},
                {"projected_poses": "primary"},
                {"standardize": True, "words": WordEncoderConfig(hidden_dim=12, pooling="max_mean", dropout=0.2)},
            ):
                yield loss, no_audio, no_text, changes


@pytest.mark.parametrize(("loss", "no_audio", "no_text", "changes"), list(_every_variant()))
def test_every_parameter_gets_a_finite_gradient_in_every_batch(loss, no_audio, no_text, changes):
    model, batch = _model(**changes), _batch(tuple(no_audio), tuple(no_text))
    batch.features["audio"][list(no_audio)] = torch.nan
    modality_pair_losses(model(batch), batch.keys, loss, 0).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_rows_do_not_influence_each_other():
    model, batch = _model().eval(), _batch(no_audio=(1,))
    alone = ClipBatch(
        features={name: values[2:3] for name, values in batch.features.items()},
        present={name: values[2:3] for name, values in batch.present.items()},
        tokens=batch.tokens[2:3],
        clip_key=batch.clip_key[2:3],
        video_key=batch.video_key[2:3],
        caption_key=batch.caption_key[2:3],
    )
    for name, vectors in model(alone).vectors.items():
        torch.testing.assert_close(vectors[0], model(batch).vectors[name][2])


def test_activations_are_those_of_the_secondary_capsules():
    activations = _model().activations(_batch())
    assert set(activations) == {"text", "video", "audio"}
    for capsules in activations.values():
        assert capsules.poses.shape == (ROWS, 4, 8)
        torch.testing.assert_close(capsules.activations.sum(dim=1), torch.ones(ROWS))


def test_activation_scale_undoes_the_softmax():
    plain, scaled = (_model(activation_scale=scale).eval() for scale in ("none", "num_capsules"))
    bias = plain.projection["shared"].linear.bias
    expected = 4 * (plain(_batch()).vectors["video"] - bias) + bias
    torch.testing.assert_close(scaled(_batch()).vectors["video"], expected)


def test_primary_poses_are_weighted_by_secondary_activations():
    """The printed Equation 3, by double loop."""
    model, batch = _model(projected_poses="primary", activation_scale="num_capsules").eval(), _batch()
    embedded, activations = model(batch).vectors["video"], model.activations(batch)["video"].activations
    poses = model.primary["video"](batch.features["video"].float()).poses
    linear = model.projection["shared"].linear
    assert linear.in_features == 4 * 3
    for row in range(ROWS):
        weighted = torch.cat([4 * activations[row, i] * poses[row, i] for i in range(4)])
        torch.testing.assert_close(embedded[row], linear.weight @ weighted + linear.bias)


def _statistics() -> dict[str, FeatureStatistics]:
    rng = np.random.default_rng(0)
    return {
        name: FeatureStatistics(rng.normal(size=dim).astype(np.float32), rng.uniform(0.5, 2, dim).astype(np.float32))
        for name, dim in CONFIG.inputs.features.items()
    }


def test_standardised_features_are_those_a_plain_model_is_given_standardised():
    statistics = _statistics()
    torch.manual_seed(0)
    model = build_model(CONFIG.model_copy(update={"standardize": True}), None, statistics).eval()
    batch = _batch(no_audio=(1,))
    batch.features["audio"][1] = torch.nan
    embedded = model(batch).vectors
    for name, found in statistics.items():
        batch.features[name] = (batch.features[name].float() - torch.tensor(found.mean)) / torch.tensor(found.std)
    expected = _model().eval()(batch).vectors
    for name, vectors in expected.items():
        torch.testing.assert_close(embedded[name], vectors, atol=1e-5, rtol=1e-4)


def test_a_model_read_back_standardises_as_before():
    config = CONFIG.model_copy(update={"standardize": True})
    model, read = build_model(config, None, _statistics()).eval(), build_model(config).eval()
    read.load_state_dict(model.state_dict())
    for name, vectors in model(_batch()).vectors.items():
        assert torch.equal(read(_batch()).vectors[name], vectors)


def test_input_dropout_acts_on_features_in_training_only():
    model, plain = _model(input_dropout=0.5), _model()
    for module in (*model.modules(), *plain.modules()):
        if isinstance(module, torch.nn.Dropout) and module is not model.input_dropout:
            module.p = 0.0
    assert not torch.equal(model(_batch()).vectors["video"], plain(_batch()).vectors["video"])
    assert torch.equal(model(_batch()).vectors["text"], plain(_batch()).vectors["text"])
    model.eval(), plain.eval()
    assert torch.equal(model(_batch()).vectors["video"], plain(_batch()).vectors["video"])


def test_precision_follows_the_parameters_and_autocast():
    assert _model().double()(_batch()).vectors["video"].dtype == torch.float64
    model = _model().eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = model(_batch()).vectors["video"]
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, model(_batch()).vectors["video"], atol=0.05, rtol=0.05)


def test_it_learns_to_match_its_batch():
    model, batch = _model(activation_scale="num_capsules"), _batch()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(60):
        loss = modality_pair_losses(model(batch), batch.keys, MaskedMarginSoftmaxConfig(), 0).total
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


@pytest.mark.parametrize(("features", "message"), [({}, "is empty"), ({"text": 3}, "captions' modality")])
def test_inputs_that_make_no_model_are_errors(features, message):
    with pytest.raises(ConfigError, match=message):
        _model(inputs=ModelInputs(features=features))


def test_the_published_size():
    """Table 6's shared model with HowTo100M's inputs: every matrix counted by hand."""
    inputs = ModelInputs(features={"video": 4096, "audio": 1024}, num_words=10, word_dim=300)
    with torch.device("meta"):
        model = build_model(CapsuleNetConfig(inputs=inputs))
    primary = sum((dim + 1) * 128 * 33 for dim in (4096, 4096, 1024))
    words = 11 * 300 + 301 * 4096
    routing = 3 * (33 * 256 + 257 * 256) + 2 * 2 * 256 + 257 * 1024 + 1025 * 256 + 257
    assert sum(p.numel() for p in model.parameters()) == primary + words + routing + (128 * 256 + 1) * 4096
