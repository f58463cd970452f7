"""Siamese networks: sizes, variants, gradients, losses of pairs."""

import pytest
import torch
from torch import nn

from tests.reference import siamese as slow_siamese
from vtr_core.config.override import override
from vtr_core.config.towers import (
    AlexNetTower,
    CapsuleTower,
    ConcreteDropout,
    InceptionTower,
    LeNetTower,
    ResNetTower,
)
from vtr_core.data.batches import ImageBatch
from vtr_core.errors import ConfigError
from vtr_core.nn.towers import InceptionV3
from vtr_core.run.build import build_model, check_model
from vtr_core.run.presets import preset
from vtr_core.systems.siamese.config import ImageShape, PairContrastiveConfig, SiameseConfig
from vtr_core.systems.siamese.model import PairObjective, Siamese, pair_kinds, pair_weights

SMALL = CapsuleTower(channels=8, primary_types=2, num_face_capsules=3, face_dim=4)


def count(shapes: dict[str, tuple[int, ...]], prefix: str) -> int:
    total = 0
    for name, shape in shapes.items():
        if name.startswith(prefix):
            total += torch.Size(shape).numel()
    return total


def images(rows: int = 6, side: int = 42, channels: int = 1) -> ImageBatch:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (rows, channels, side, side), dtype=torch.uint8, generator=generator)
    return ImageBatch(pixels, torch.arange(rows), torch.arange(rows) // 2)


@pytest.mark.parametrize(("faces", "expected"), [(10, 5_898_240), (32, 4608 * 8 * 32 * 16)])
def test_the_printed_numbers_of_parameters(faces, expected):
    shapes = check_model(SiameseConfig(tower=CapsuleTower(num_face_capsules=faces)))
    assert count(shapes, "tower.convolution.") == 20_992
    assert count(shapes, "tower.primary.") == 5_308_672
    assert count(shapes, "tower.faces.") == expected
    assert shapes["head.weight"] == (20, 16 * faces)


def test_resnet_34_has_its_parameters():
    shapes = check_model(SiameseConfig(tower=ResNetTower(), image=ImageShape(channels=3)))
    learned = sum(
        torch.Size(s).numel()
        for n, s in shapes.items()
        if n.startswith("tower.") and not n.endswith(("running_mean", "running_var", "num_batches_tracked"))
    )
    assert learned == 21_797_672 - (512 * 1000 + 1000)


def test_inception_v3_has_the_published_channels():
    """Table 1 of Szegedy et al. 2016: 35 × 35 × 288 before the reduction, 17 × 17 × 768 after it, for 299 × 299."""
    shapes = check_model(SiameseConfig(tower=InceptionTower(), image=ImageShape(channels=3)))
    assert shapes["head.weight"] == (20, 768)
    convolutions = [s for n, s in shapes.items() if n.startswith("tower.") and len(s) == 4]
    assert len(convolutions) == 5 + 3 * 7 + 4 + 2 * 10
    tower = InceptionV3(3, 0.0).eval()
    maps, widths = torch.zeros(1, 3, 299, 299), []
    for layer in tower.layers[:13]:
        maps = layer(maps)
        widths.append(maps.shape[1])
    assert widths[-6:] == [256, 288, 288, 768, 768, 768]
    learned = [sum(p.numel() for p in layer.parameters()) for layer in tower.layers[7:13]]
    a = ((64, 1), (48, 1), (64, 25, 48), (64, 1), (96, 9, 64), (96, 9, 96))
    reduction = ((384, 9), (64, 1), (96, 9, 64), (96, 9, 96))
    assert learned[:4] == [
        *(_learned((*a, (pool, 1)), before) for before, pool in ((192, 32), (256, 64), (288, 64))),
        _learned(reduction, 288),
    ]
    for found, w in zip(learned[4:], (128, 160), strict=True):
        once, twice = ((w, 7, w), (192, 7, w)), ((w, 7, w), (w, 7, w), (w, 7, w), (192, 7, w))
        assert found == _learned(((192, 1), (w, 1), *once, (w, 1), *twice, (192, 1)), 768)


def _learned(convolutions: tuple[tuple[int, ...], ...], before: int) -> int:
    """Weights of convolutions, (channels, places of the kernel, channels before), and their norms' scale and shift."""
    return sum(out * places * (rest[0] if rest else before) + 2 * out for out, places, *rest in convolutions)


@pytest.mark.parametrize("tower", [SMALL, LeNetTower(), AlexNetTower(hidden_dim=16), ResNetTower(), InceptionTower()])
def test_images_keep_their_own_shape_without_a_size(tower):
    config = SiameseConfig(tower=tower, size=None, image=ImageShape(height=56, width=46, channels=3))
    pixels = torch.randint(256, (2, 3, 56, 46), dtype=torch.uint8)
    vectors = build_model(config).eval()(ImageBatch(pixels, torch.arange(2), torch.arange(2))).vectors
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(2))


@pytest.mark.parametrize(
    ("tower", "size", "least"), [(SMALL, 32, "33 × 33"), (LeNetTower(), 12, "16 × 16"), (AlexNetTower(), 20, "32 × 32")]
)
def test_images_too_small_are_refused(tower, size, least):
    with pytest.raises(ConfigError, match=f"images of {size} × {size} are too small.*{least}"):
        check_model(SiameseConfig(tower=tower, size=size))


@pytest.mark.parametrize("nonlinearity", ["tanh", "squash"])
@pytest.mark.parametrize("couplings", ["outputs", "inputs"])
def test_everything_learns(nonlinearity, couplings):
    torch.manual_seed(0)
    tower = SMALL.model_copy(
        update={
            "nonlinearity": nonlinearity,
            "couplings": couplings,
            "dropout": ConcreteDropout(),
            "reconstruction_weight": 1e-4,
        }
    )
    model = Siamese(SiameseConfig(tower=tower, size=42))
    found = model(images())
    (found.vectors[0] @ found.vectors[1] + found.penalty + found.reconstruction.mean()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_images_of_one_colour_give_finite_vectors_and_gradients():
    model = Siamese(SiameseConfig(tower=SMALL, size=42))
    black = ImageBatch(torch.zeros(2, 1, 42, 42, dtype=torch.uint8), torch.arange(2), torch.arange(2))
    model(black).vectors.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)
    nn.init.zeros_(model.head.weight)
    nn.init.zeros_(model.head.bias)
    assert model(black).vectors.eq(0).all()


@pytest.mark.parametrize("unit", [True, False])
def test_outside_training_a_face_may_count_with_its_mirror_image(unit):
    plain = Siamese(SiameseConfig(tower=SMALL, size=42, normalize=unit)).eval()
    both = Siamese(SiameseConfig(tower=SMALL, size=42, normalize=unit, mirror_average=True)).eval()
    both.load_state_dict(plain.state_dict())
    given = images()
    mirrored = ImageBatch(given.pixels.flip(-1), given.image_key, given.subject_key)
    mean = (plain(given).vectors + plain(mirrored).vectors) / 2
    expected = mean / mean.norm(dim=1, keepdim=True) if unit else mean
    torch.testing.assert_close(both(given).vectors, expected)
    torch.testing.assert_close(both(mirrored).vectors, expected)
    torch.manual_seed(0)
    trained = plain.train()(given).vectors
    torch.manual_seed(0)
    torch.testing.assert_close(both.train()(given).vectors, trained)


@pytest.mark.parametrize("tower", ["", "-drop-caps", "-lenet", "-alexnet", "-resnet-34", "-inception-v3"])
def test_the_published_recipe_combines_with_every_tower(tower):
    """α/√t of 1e-3, neither augmentation nor averages of mirror images, dropout of 0.2."""
    config = preset(f"siamese-att-small-published{tower}")
    assert config.model.augmentation.is_none
    assert not config.model.mirror_average
    assert (config.optimizer.schedule, config.optimizer.learning_rate) == ("inverse_sqrt", 1e-3)
    plain = preset(f"siamese-att-small{tower}").model.tower
    assert config.model.tower.kind == plain.kind
    dropout = config.model.tower.dropout
    assert (dropout if isinstance(dropout, float) else dropout.rate) == 0.2


def test_margins_out_of_order_are_refused():
    with pytest.raises(ConfigError, match=r"margin_negative = 0.6 must be below margin_positive = 0.5"):
        override(preset("siamese-att-double-margin"), {"loss.margin_negative": 0.6})


IMAGES, SUBJECTS = [1, 2, 2, 3, 4, 5], [7, 7, 7, 8, 8, 9]


def batch():
    torch.manual_seed(0)
    vectors = torch.nn.functional.normalize(torch.randn(6, 4, dtype=torch.float64)).requires_grad_()
    return vectors, torch.tensor(IMAGES), torch.tensor(SUBJECTS)


def test_slow_code():
    vectors, images, subjects = batch()
    found = PairObjective(PairContrastiveConfig(margin=1.5))(vectors, images, subjects).total
    expected = slow_siamese.batch_loss(vectors, IMAGES, SUBJECTS, 1.5)
    torch.testing.assert_close(found, expected)
    (fast,) = torch.autograd.grad(found, vectors)
    (slow,) = torch.autograd.grad(expected, vectors)
    torch.testing.assert_close(fast, slow)


def test_an_image_makes_no_pair_with_itself():
    kinds = pair_kinds(torch.tensor(IMAGES), torch.tensor(SUBJECTS))
    assert kinds.matching.nonzero().tolist() == [[0, 1], [0, 2], [3, 4]]
    assert int(kinds.different.sum()) == 15 - 3 - 1


def test_hardest_takes_the_nearest_different_pairs():
    kinds = pair_kinds(torch.tensor(IMAGES), torch.tensor(SUBJECTS))
    distance = torch.rand(6, 6)
    weights = pair_weights(kinds, distance, "hardest")
    chosen = set(distance[kinds.different & (weights > 0)].tolist())
    assert chosen == set(sorted(distance[kinds.different].tolist())[:3])


def test_a_batch_of_one_kind_has_all_the_weight_there_and_without_pairs_the_loss_is_0():
    one = pair_kinds(torch.tensor([1, 2]), torch.tensor([5, 5]))
    assert float(pair_weights(one, torch.rand(2, 2), "balanced").sum()) == pytest.approx(1)
    vectors = torch.randn(1, 4, requires_grad=True)
    loss = PairObjective(PairContrastiveConfig())(vectors, torch.tensor([1]), torch.tensor([1])).total
    loss.backward()
    assert float(loss) == 0
    assert vectors.grad.eq(0).all()
