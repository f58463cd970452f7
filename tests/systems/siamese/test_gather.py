"""W workers with B/W images each give the loss and gradients of one with B: pairs, batch norm, penalties."""

from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.builders.made_faces import face, ingested, made_faces, names
from tests.train.workers import assert_together_equal_one, averaged_gradients, run_together
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.sources.faces import Faces
from vtr_core.embedding.collectives import contiguous_share, sum_shares
from vtr_core.nn.normalization import ChannelBatchNorm, share_statistics
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.systems.siamese import task
from vtr_core.systems.siamese.model import Siamese
from vtr_core.systems.siamese.task import VerificationTask, shared_distances
from vtr_core.systems.siamese.verification import encode_faces, score_pairs
from vtr_core.text.tokens.vocabulary import Vocabulary

CPU = torch.device("cpu")
BASE = {
    "model.size": 36,
    "model.image": {"height": 48, "width": 40},
    "model.tower.channels": 4,
    "model.tower.primary_types": 2,
    "model.tower.num_face_capsules": 3,
    "batch.videos": 4,
    "batch.clips_per_video": 3,
    "loss.margin": 1.5,
}
CASES = [
    {},
    {"model.tower.reconstruction_weight": 1e-3, "loss.pairs": "hardest"},
    {"loss.kind": "pair_double_margin", "loss.margin_positive": 1.9, "loss.margin_negative": 0.01},
]


def config(changes: dict[str, object]) -> TrainConfig:
    base = {name: value for name, value in BASE.items() if not (name == "loss.margin" and "loss.kind" in changes)}
    return override(preset("siamese-att-tiny"), {**base, **changes})


def one_step(settings: TrainConfig, rank: int, world: int) -> list[Tensor]:
    torch.manual_seed(0)
    model = Siamese(settings.model).train()
    if world > 1:
        share_statistics(model, sum_shares, ChannelBatchNorm)
    images = [(subject, number) for subject in range(4) for number in range(3)]
    part = images[rank * len(images) // world : (rank + 1) * len(images) // world]
    columns = {
        "pixels": torch.stack([torch.from_numpy(face(*image)).flatten() for image in part]).numpy(),
        "clip_key": torch.tensor([10 * s + i for s, i in part]).numpy(),
        "video_key": torch.tensor([s for s, _ in part]).numpy(),
    }
    loss = VerificationTask(settings, rank, world).step(model, columns, 5, CPU).loss
    loss.backward()
    gradients = averaged_gradients(model, world)
    return [loss.detach(), *gradients, *(b.detach().float() for n, b in model.named_buffers() if "running" in n)]


def steps(rank: int, world: int) -> list[list[Tensor]]:
    return [one_step(config(case), rank, world) for case in CASES]


@pytest.mark.parametrize("world", [2, pytest.param(3, marks=pytest.mark.long)])
def test_workers_together_equal_one(world: int, tmp_path: Path) -> None:
    assert all(any(value.abs().sum() > 0 for value in case[1:]) for case in steps(0, 1))
    assert_together_equal_one(steps, world, tmp_path, rtol=2e-3, atol=2e-5)


def shared(uri: str, rank: int, world: int) -> list[list[Tensor]]:
    """Distances of the validation pairs, five at a time, and the figures; of three workers the first has no images."""
    task.PAIRS_AT_ONCE = 5
    manifest, settings = Manifest.load(uri), config({})
    torch.manual_seed(0)
    model = Siamese(settings.model).eval()
    own = encode_faces(model, settings, manifest, contiguous_share(row_groups(manifest), rank, world))
    values = VerificationTask(settings, rank, world).evaluate(model, manifest, Vocabulary(()))
    figures = [torch.tensor(values[name], dtype=torch.float64) for name in sorted(values)]
    return [list(map(torch.from_numpy, shared_distances(own, manifest, settings, rank, CPU))), figures]


@pytest.mark.parametrize("world", [1, 2, pytest.param(3, marks=pytest.mark.long)])
def test_validation_in_shares_is_that_of_all_images(world: int, tmp_path: Path) -> None:
    root = made_faces(tmp_path / "raw", subjects=6)
    uri = ingested(Faces(root=str(root), validation=names(1, 2)), tmp_path / "out", videos_per_shard=1)["val"]
    manifest, settings = Manifest.load(uri), config({})
    assert len(row_groups(manifest)) == 2
    torch.manual_seed(0)
    scored = score_pairs(encode_faces(Siamese(settings.model), settings, manifest), manifest, settings)
    alone = shared(uri, 0, 1)
    found = [alone] if world == 1 else run_together(partial(shared, uri), world, tmp_path)
    for (distance, different), figures in found:
        torch.testing.assert_close(distance, torch.from_numpy(scored.distance), rtol=1e-6, atol=1e-6)
        assert torch.equal(different, torch.from_numpy(scored.different))
        assert len(figures) > 5
        torch.testing.assert_close(figures, alone[1], rtol=1e-6, atol=1e-6)
