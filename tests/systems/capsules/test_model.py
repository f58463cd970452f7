import numpy as np
import pytest
import torch

from tests.builders.clip_batches import INPUTS, ROWS, clips
from vtr_core.config.data_sets import WordEncoderConfig
from vtr_core.config.override import ModelInputs
from vtr_core.config.towers import SelfAttentionRouting
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.run.build import build_model
from vtr_core.systems.capsules.config import CapsuleNetConfig
from vtr_core.systems.capsules.model import CapsuleNet

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


@pytest.mark.parametrize("share_weights", [True, False])
def test_weights_behind_the_primary_capsules_are_shared_or_not(share_weights):
    model = _model(share_weights=share_weights)
    heads = ["shared"] if share_weights else ["text", "video", "audio"]
    assert list(model.routing) == list(model.projection) == heads
    assert list(model.primary) == ["text", "video", "audio"]


def test_activations_are_those_of_the_secondary_capsules():
    activations = _model().activations(clips())
    assert set(activations) == {"text", "video", "audio"}
    for capsules in activations.values():
        assert capsules.poses.shape == (ROWS, 4, 8)
        torch.testing.assert_close(capsules.activations.sum(dim=1), torch.ones(ROWS))


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


def test_input_dropout_acts_on_features_in_training_only():
    model, plain = _model(input_dropout=0.5), _model()
    for module in (*model.modules(), *plain.modules()):
        if isinstance(module, torch.nn.Dropout) and module is not model.inputs.input_dropout:
            module.p = 0.0
    assert not torch.equal(model(clips()).vectors["video"], plain(clips()).vectors["video"])
    assert torch.equal(model(clips()).vectors["text"], plain(clips()).vectors["text"])
    model.eval(), plain.eval()
    assert torch.equal(model(clips()).vectors["video"], plain(clips()).vectors["video"])


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
