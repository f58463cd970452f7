import math

import pytest
import torch

from tests.losses.cases import INCOMPLETE, STEP, batch, keys
from vtr_core.config.losses import GramVolumeConfig
from vtr_core.errors import ConfigError
from vtr_core.losses.contrastive import build_objective


def test_every_row_with_text_takes_part_once():
    groups = build_objective(GramVolumeConfig()).groups(batch(**INCOMPLETE))
    rows = {group.name: set(group.rows.nonzero().flatten().tolist()) for group in groups}
    assert rows == {"text_video_audio": {2, 5, 6, 7, 10}, "text_video": {1, 4, 9}, "text_audio": {3, 8}}


@pytest.mark.parametrize("names", [("audio", "video"), ("text",), ("text", "video", "audio", "speech")])
def test_other_modalities_are_refused(names):
    with pytest.raises(ConfigError, match="text and one or two further modalities, got"):
        build_objective(GramVolumeConfig())(batch(*names), keys(), STEP)


def test_golden_loss_of_orthogonal_clips():
    # Matches span the smallest area, 1e-3; the others the unit square.
    x, y = torch.eye(4, dtype=torch.float64)[:2]
    embeddings = batch("text", "video", rows=2, extra=0)
    with torch.no_grad():
        for vectors in embeddings.vectors.values():
            vectors.copy_(torch.stack([x, y]))
    loss = build_objective(GramVolumeConfig(temperature=0.5, pair_weight=0.0))(embeddings, keys(2), STEP).total
    assert keys(2).clip.tolist() == [0, 0]
    assert loss.item() == 0.0
    different = type(keys())(torch.arange(2), torch.arange(2), torch.arange(2))
    loss = build_objective(GramVolumeConfig(temperature=0.5, pair_weight=0.0))(embeddings, different, STEP).total
    assert loss.item() == pytest.approx(2 * math.log(1 + math.exp((1e-3 - 1) / 0.5)), abs=1e-12)


def test_gradients_are_finite_where_modalities_coincide():
    embeddings = batch()
    with torch.no_grad():
        embeddings.vectors["video"].copy_(embeddings.vectors["text"])
        embeddings.vectors["audio"].copy_(embeddings.vectors["text"])
    build_objective(GramVolumeConfig())(embeddings, keys(), STEP).total.backward()
    assert all(vectors.grad.isfinite().all() for vectors in embeddings.vectors.values())
