"""Equal routing coefficients: a tower with one round of routing within, and as it was afterwards."""

import torch

from vtr_core.config.towers import CapsuleTower, LeNetTower
from vtr_core.data.batches import ImageBatch
from vtr_core.systems.siamese.config import SiameseConfig
from vtr_core.systems.siamese.model import Siamese
from vtr_core.systems.siamese.task import knock_outs

TOWER = CapsuleTower(channels=4, primary_types=2, num_face_capsules=3, iterations=4)


def _images() -> ImageBatch:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (3, 1, 42, 42), generator=generator, dtype=torch.uint8)
    keys = torch.arange(3)
    return ImageBatch(pixels, keys, keys)


def test_votes_count_alike_within_and_agree_afterwards() -> None:
    torch.manual_seed(0)
    config = SiameseConfig(size=42, tower=TOWER)
    model = Siamese(config).eval()
    model.tower.faces.weight.data *= 30  # votes that are large enough to agree or not
    once = Siamese(config.model_copy(update={"tower": TOWER.model_copy(update={"iterations": 1})})).eval()
    once.load_state_dict(model.state_dict())
    before = model(_images()).vectors
    with knock_outs(model)["routing"]() as remark:
        within = model(_images()).vectors
    assert torch.equal(within, once(_images()).vectors)
    assert not torch.allclose(within, before)
    assert torch.equal(model(_images()).vectors, before)
    assert remark() == "equal routing coefficients in one round, not 4"


def test_a_baseline_has_none() -> None:
    assert knock_outs(Siamese(SiameseConfig(size=42, tower=LeNetTower()))) == {}
