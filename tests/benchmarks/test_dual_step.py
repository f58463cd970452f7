"""The step with loops is the same step."""

import torch

from benchmarks.dual_step import Flags, compare, loop_loss, markdown, random_videos
from vtr_core.config.sequence_models import TemporalLevelsConfig
from vtr_core.config.settings import ModelInputs
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig
from vtr_core.systems.dual.loss import DualObjective
from vtr_core.systems.dual.model import HybridEncoder

FLAGS = Flags(videos=6, frames=5, frame_dim=8, rounds=1)
LEVELS = TemporalLevelsConfig(hidden_dim=4, num_filters=3, kernel_sizes=(2, 3))
SMALL = HybridEncoderConfig(
    inputs=ModelInputs(word_dim=4), latent_dim=6, num_concepts=5, video=LEVELS, text=LEVELS, dropout=0.0
)


def test_both_steps_have_the_same_loss_and_gradients() -> None:
    torch.manual_seed(0)
    inputs = ModelInputs(features={"video": 8}, num_words=7807, word_dim=4, max_words=20)
    model = HybridEncoder(SMALL.model_copy(update={"inputs": inputs}))
    batch, labels = random_videos(FLAGS, 5, torch.device("cpu"))
    losses = [
        DualObjective(DualTripletConfig(), "jaccard")(model(batch), labels, batch.keys).total,
        loop_loss(model, batch, labels),
    ]
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-5, atol=0)
    gradients = [torch.autograd.grad(loss, list(model.parameters())) for loss in losses]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)  # biases before a normalisation: 0


def test_the_page_has_every_step() -> None:
    figures = {**compare(FLAGS, torch.device("cpu"), SMALL), "device": "a machine", "versions": {}, "command": "it"}
    page = markdown(figures)
    assert "| ours |" in page
    assert "| loops |" in page
    assert figures["loops_to_ours"] > 0
