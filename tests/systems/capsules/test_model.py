"""The capsule network, its baselines and variants."""

import numpy as np
import pytest
import torch

from tests.builders.clip_batches import INPUTS, ROWS, clips
from tests.reference import baselines as slow_baselines
from vtr_core.config.data_sets import WordEncoderConfig
from vtr_core.config.override import ModelInputs, override
from vtr_core.config.towers import SelfAttentionRouting
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.losses.contrastive import build_objective
from vtr_core.nn.capsules.dynamic_routing import Capsules
from vtr_core.nn.capsules.routing import SelfAttention
from vtr_core.run.build import build_model
from vtr_core.run.inputs import text_encoder_changes
from vtr_core.run.presets import preset
from vtr_core.systems.capsules.config import CapsuleNetConfig, FullyConnectedConfig, SelfAttentionBaselineConfig
from vtr_core.systems.capsules.model import SHARED, CapsuleNet
from vtr_core.systems.capsules.presets import CAPSULE_PRESETS

CONFIG = CapsuleNetConfig(
    inputs=INPUTS,
    num_capsules=4,
    primary_dim=3,
    routing=SelfAttentionRouting(pose_dim=8, mlp_dim=16, num_heads=2),
    words=WordEncoderConfig(hidden_dim=12),
    embedding_dim=16,
)


def _model(**changes) -> CapsuleNet:
    torch.manual_seed(0)
    return build_model(CONFIG.model_copy(update=changes))


def test_activation_scale_undoes_the_softmax():
    plain, scaled = (
        _model(activation_scale=scale, initialization="torch").eval() for scale in ("none", "num_capsules")
    )
    bias = plain.projection["shared"].linear.bias
    expected = 4 * (plain(clips()).vectors["video"] - bias) + bias
    torch.testing.assert_close(scaled(clips()).vectors["video"], expected)


def test_primary_poses_are_weighted_by_secondary_activations():
    """The printed Equation 3, by double loop."""
    model, batch = _model(projected_poses="primary", activation_scale="num_capsules").eval(), clips()
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
    batch = clips(no_audio=(1,))
    batch.features["audio"][1] = torch.nan
    embedded = model(batch).vectors
    for name, found in statistics.items():
        batch.features[name] = (batch.features[name].float() - torch.tensor(found.mean)) / torch.tensor(found.std)
    expected = _model().eval()(batch).vectors
    for name, vectors in expected.items():
        torch.testing.assert_close(embedded[name], vectors, atol=1e-5, rtol=1e-4)


def test_the_published_size():
    """Table 6's shared model with HowTo100M's inputs: every matrix counted by hand."""
    inputs = ModelInputs(features={"video": 4096, "audio": 1024}, num_words=10, word_dim=300)
    with torch.device("meta"):
        model = build_model(CapsuleNetConfig(inputs=inputs))
    primary = sum((dim + 1) * 128 * 33 for dim in (4096, 4096, 1024))
    words = 11 * 300 + 301 * 4096
    routing = 3 * (33 * 256 + 257 * 256) + 2 * 2 * 256 + 257 * 1024 + 1025 * 256 + 257
    assert sum(p.numel() for p in model.parameters()) == primary + words + routing + (128 * 256 + 1) * 4096


def test_a_checkpoint_of_before_loads_unless_it_has_a_frame_block() -> None:
    written = CapsuleNetConfig(inputs=INPUTS).model_dump(mode="json")
    assert CapsuleNetConfig.model_validate(written | {"frame_block": None}) == CapsuleNetConfig(inputs=INPUTS)
    with pytest.raises(ValueError, match="frame_block"):
        CapsuleNetConfig.model_validate(written | {"frame_block": {"frames": 4}})


SETTINGS = {"inputs": INPUTS, "words": WordEncoderConfig(hidden_dim=12), "embedding_dim": 16}


def _inputs(model, batch):
    """The vector that each modality begins with, in rows that have it."""
    return {"text": model.inputs.words(batch.tokens), **{name: f.double() for name, f in batch.features.items()}}


def test_fully_connected_equals_slow_code():
    torch.manual_seed(0)
    model, batch = build_model(FullyConnectedConfig(hidden_dim=20, **SETTINGS)).double(), clips()
    embedded = model(batch).vectors
    for name, values in _inputs(model, batch).items():
        for row, vector in enumerate(values):
            expected = slow_baselines.fully_connected(model.layers[name], vector)
            torch.testing.assert_close(embedded[name][row], expected, atol=1e-9, rtol=0)


def test_a_gated_unit_equals_slow_code():
    torch.manual_seed(0)
    model, batch = build_model(FullyConnectedConfig(layers="gated_unit", **SETTINGS)).double(), clips()
    embedded = model(batch).vectors
    for name, values in _inputs(model, batch).items():
        expected = slow_baselines.gated_unit(model.layers[name], values[0])
        torch.testing.assert_close(embedded[name][0], expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("num_tokens", [1, 3, 4, 16])
@pytest.mark.parametrize("num_heads", [1, 2])
def test_token_attention_equals_slow_code(num_tokens, num_heads):
    """The dimensions 10, 7 and 12 are cut into as many tokens evenly, with padding, and one value or none each."""
    torch.manual_seed(0)
    config = SelfAttentionBaselineConfig(num_tokens=num_tokens, attention_dim=6, num_heads=num_heads, **SETTINGS)
    model, batch = build_model(config).double(), clips()
    embedded = model(batch).vectors
    for name, values in _inputs(model, batch).items():
        for row, vector in enumerate(values):
            expected = slow_baselines.token_attention(model.attention[name], vector)
            torch.testing.assert_close(embedded[name][row], expected, atol=1e-9, rtol=0)


def _routing(carried: float) -> SelfAttention:
    config = CapsuleNetConfig(
        inputs=INPUTS,
        num_capsules=64,
        primary_dim=8,
        routing=SelfAttentionRouting(pose_dim=32, mlp_dim=64, carried_presence=carried),
        words=WordEncoderConfig(hidden_dim=12),
        embedding_dim=16,
    )
    torch.manual_seed(0)
    model = build_model(config).eval()
    assert isinstance(model, CapsuleNet)
    routing = model.routing[SHARED]
    assert isinstance(routing, SelfAttention)
    return routing


def _given() -> Capsules:
    return Capsules(torch.randn(200, 64, 8), torch.randn(200, 64).sigmoid())


@pytest.mark.parametrize("carried", [0.0, 2.0])
def test_logits_deviate_by_about_1_at_the_start(carried: float) -> None:
    logits = _routing(carried)(_given()).activations.log()
    assert 0.7 < float(logits.detach().std(dim=1).mean()) < 1.4


def test_secondary_activations_follow_the_primary_ones() -> None:
    given = _given()
    with_it, without = (_correlation(given, _routing(carried)) for carried in (2.0, 0.0))
    assert with_it > 0.9
    assert abs(without) < 0.3


def _correlation(given: Capsules, routing: SelfAttention) -> float:
    """Of log p and log p̂, over the clips and capsules."""
    both = torch.stack([given.activations.log(), routing(given).activations.log().detach()]).flatten(1)
    return float(torch.corrcoef(both)[0, 1])


def test_a_capsule_that_is_not_there_at_all_has_a_gradient() -> None:
    activations = torch.tensor([[0.0, 1.0, 0.5]]).expand(2, 3).clone().requires_grad_()
    routing = SelfAttention(3, 4, SelfAttentionRouting(pose_dim=8, mlp_dim=8, carried_presence=2.0)).eval()
    found = routing(Capsules(torch.randn(2, 3, 4), activations)).activations
    found[:, 1].sum().backward()
    assert activations.grad is not None
    assert torch.isfinite(activations.grad).all()
    assert (found[:, 0] < 1e-6).all()


@pytest.mark.parametrize("name", ["", *(f"-{variant}" for variant in CAPSULE_PRESETS.variants)])
@pytest.mark.parametrize("base", ["capsule-howto-tiny", "capsule-howto-tiny-published", "capsule-msrvtt"])
def test_a_variant_takes_a_step(base: str, name: str) -> None:
    config = override(preset(base + name), {"model.inputs": INPUTS.model_dump()})
    config = override(config, text_encoder_changes(config.model))
    assert config.preset == base + name
    torch.manual_seed(0)
    model, batch = build_model(config.model), clips(extra=config.batch.candidates - 1 or None)
    build_objective(config.loss)(model(batch), batch.keys, 0).total.backward()
    without = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
    assert without == []


def test_the_papers_rows() -> None:
    """Table 3: C = 64, d1 = d2 = 16; Table 4: C = 32, 64, 256 with the other settings of the main model."""
    for kind in ("none", "dynamic", "em", "set_transformer", "self_attention"):
        model = preset(f"capsule-howto-routing-{kind.replace('_', '-')}").model
        assert (model.num_capsules, model.primary_dim, model.routing.pose_dim) == (64, 16, 16)
        assert model.routing.kind == kind
        assert (model.projected_poses == "primary") == (kind in ("none", "self_attention"))
    main = preset("capsule-howto").model
    for name, count in (("quarter", 32), ("half", 64), ("double", 256)):
        assert preset(f"capsule-howto-capsules-{name}").model == main.model_copy(update={"num_capsules": count})
    assert preset("capsule-howto-mil-nce").batch.candidates == 5


def test_the_papers_rows_as_published() -> None:
    """Sums in iterative routings, one rate and distance for the paper's own trainings; others keep their authors'."""
    ours = [name for name in CAPSULE_PRESETS.variants if name not in ("max-margin", "mil-nce", "avlnet")]
    for name in ("", *(f"-{variant}" for variant in ours)):
        config = preset(f"capsule-howto-published{name}")
        optimizer = config.optimizer
        assert (optimizer.learning_rate, optimizer.warmup_steps, optimizer.gradient_clip) == (1e-3, 0, None)
        assert optimizer.full_rate_width is None
        assert (config.evaluation.similarity, config.loss.same_video.kind) == ("neg_euclidean", "keep_all")
        assert (config.model.initialization, config.model.standardize) == ("torch", False)
        assert not config.model.words.layer_norm
    assert preset("capsule-howto-published-routing-em").model.routing.components == "sum"
    assert preset("capsule-howto-published-routing-dynamic").model.routing.agreement == "sum"
    rates = {name: preset(f"capsule-howto-published-{name}").optimizer for name in ("max-margin", "mil-nce", "avlnet")}
    assert {name: own.learning_rate for name, own in rates.items()} == {
        "max-margin": 1e-4,
        "mil-nce": 1e-3,
        "avlnet": 2.5e-4,
    }
    assert preset("capsule-howto-published-max-margin").loss.same_video.kind == "weight"


def test_baselines_are_those_that_were_published() -> None:
    """HT100M: video, text, gated units, 1e-4; AVLnet: three modalities, 2.5e-4; MIL-NCE: 1e-3; multi-head attention."""
    ht100m, avlnet, mil_nce = (preset(f"capsule-howto-{name}") for name in ("max-margin", "avlnet", "mil-nce"))
    assert (ht100m.model.layers, ht100m.model.modalities) == ("gated_unit", ("video",))
    assert (ht100m.optimizer.learning_rate, ht100m.loss.kind) == (1e-4, "max_margin_ranking")
    assert (ht100m.model.normalize, avlnet.model.normalize) == (True, False)  # only the former's model does
    assert (avlnet.model.layers, avlnet.model.modalities) == ("gated_unit", ())
    assert (avlnet.optimizer.learning_rate, avlnet.loss.kind) == (2.5e-4, "masked_margin_softmax")
    assert (mil_nce.optimizer.learning_rate, mil_nce.optimizer.warmup_steps) == (1e-3, 24)
    assert (mil_nce.model.modalities, preset("capsule-howto-video").model.modalities) == (("video",), ("video",))
    assert preset("capsule-howto-published").model.routing.num_heads == 4
    assert preset("capsule-howto-self-attention").model.num_heads == 4
