"""Activations by their mean: nothing of them depends on the clip, and afterwards all is as it was."""

import pytest
import torch

from tests.builders.clip_batches import INPUTS, ROWS, clips
from vtr_core.config.data_sets import WordEncoderConfig
from vtr_core.config.towers import SelfAttentionRouting
from vtr_core.nn.capsules.dynamic_routing import Capsules
from vtr_core.run.build import build_model
from vtr_core.systems.capsules.config import CapsuleNetConfig, FullyConnectedConfig
from vtr_core.systems.capsules.task import knock_outs, mean_entropy

WORDS = WordEncoderConfig(hidden_dim=12)
CONFIG = CapsuleNetConfig(
    inputs=INPUTS,
    num_capsules=4,
    primary_dim=3,
    routing=SelfAttentionRouting(pose_dim=8, mlp_dim=16),
    words=WORDS,
    embedding_dim=16,
)


def test_activations_are_their_mean_within_and_as_they_were_afterwards() -> None:
    torch.manual_seed(0)
    model, batch = build_model(CONFIG).eval(), clips()
    before, embedded = model.activations(batch)["video"].activations, model(batch).vectors["video"]
    with knock_outs(model)["activations"]() as remark:
        within, changed = model.activations(batch)["video"].activations, model(batch).vectors["video"]
    torch.testing.assert_close(within, before.mean(dim=0).expand_as(before))
    assert not torch.allclose(changed, embedded)
    torch.testing.assert_close(model(batch).vectors["video"], embedded)
    assert "of 2.00 bits" in remark()


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("extra", [None, 2])
def test_rows_without_a_modality_are_in_no_mean(shared: bool, extra: int | None) -> None:
    """Nor in the entropy, so that what a row is given does not depend on rows that lack what it has."""
    torch.manual_seed(0)
    model = build_model(CONFIG.model_copy(update={"share_weights": shared})).eval()
    whole, some = clips(no_audio=(1, 4), no_text=(0,), extra=extra), [0, 2, 3, 5]
    plain = model.activations(whole)
    known, told = plain["audio"].activations[some], plain["text"].activations[1:]
    with knock_outs(model)["activations"]() as remark:
        within = model.activations(whole)
        entropy = remark()
        vectors = model(whole).vectors["text"]
    torch.testing.assert_close(within["audio"].activations[some], known.mean(dim=0).expand_as(known))
    torch.testing.assert_close(within["text"].activations[1:], told.mean(dim=0).expand_as(told))
    assert torch.isfinite(vectors).all()
    shares = [Capsules(torch.zeros(len(one), 4, 2), one) for one in (known, told, plain["video"].activations)]
    assert f"{sum(map(mean_entropy, shares)) / 3:.2f} of 2.00 bits" in entropy


def test_a_modality_that_no_row_has_changes_nothing() -> None:
    torch.manual_seed(0)
    model, batch = build_model(CONFIG).eval(), clips(no_audio=range(ROWS))
    with knock_outs(model)["activations"]():
        found = model(batch).vectors
    assert all(torch.isfinite(vectors).all() for vectors in found.values())
    assert not found["audio"].any()


def test_the_entropy_is_that_of_shares() -> None:
    halves = Capsules(torch.zeros(1, 4, 2), torch.tensor([[0.5, 0.5, 0.0, 0.0]]))
    assert mean_entropy(halves) == 1.0


def test_a_baseline_has_nothing_to_go_without() -> None:
    model = build_model(FullyConnectedConfig(inputs=INPUTS, words=WORDS, hidden_dim=8, embedding_dim=16))
    assert knock_outs(model) == {}
