"""Siamese presets: published sizes, variants of the table, margins in order."""

import pytest

from vtr_core.config.override import override
from vtr_core.config.towers import ConcreteDropout
from vtr_core.errors import ConfigError
from vtr_core.run.presets import PRESETS, preset

SIAMESE = [name for name in PRESETS if name.startswith("siamese")]


def test_published_sizes():
    att, lfw = preset("siamese-att"), preset("siamese-lfw")
    assert (att.model.size, att.model.tower.channels, att.model.tower.num_face_capsules) == (100, 256, 32)
    assert (att.loss.margin, att.model.tower.iterations, att.optimizer.amsgrad) == (0.4, 4, True)
    assert (lfw.loss.margin, lfw.model.tower.iterations) == (0.2, 6)
    double = preset("siamese-lfw-double-margin").loss
    assert (double.margin_positive, double.margin_negative) == (0.5, 0.2)
    assert preset("siamese-att-published").optimizer.schedule == "inverse_sqrt"


def test_variants_of_the_table():
    kinds = {name: preset(f"siamese-att-{name}").model.tower.kind for name in ("lenet", "alexnet", "resnet-34")}
    assert kinds == {"lenet": "lenet", "alexnet": "alexnet", "resnet-34": "resnet34"}
    for base in ("siamese-att", "siamese-att-small"):
        dropout = preset(f"{base}-drop-caps").model.tower.dropout
        assert isinstance(dropout, ConcreteDropout)
        assert dropout.rate == preset(base).model.tower.dropout.rate


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


def test_concrete_dropout_is_published_as_printed():
    dropout = preset("siamese-lfw-published-drop-caps").model.tower.dropout
    assert (dropout.kind, dropout.weight_penalty, dropout.compat) == ("concrete", 0.1, "paper")


def test_margins_out_of_order_are_refused():
    with pytest.raises(ConfigError, match=r"margin_negative = 0.6 must be below margin_positive = 0.5"):
        override(preset("siamese-att-double-margin"), {"loss.margin_negative": 0.6})
