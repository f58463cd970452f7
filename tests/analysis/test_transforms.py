import json
import math

import pytest
import torch

from tests.reference.causality import transformed
from vtr_core.analysis.transforms import Transform, read_transform, transform
from vtr_core.errors import ConfigError

SCORES = torch.tensor([[-3.0, -0.4, 0.0], [0.7, 2.5, 8.0]])


@pytest.mark.parametrize("similarity", ["jaccard", "cosine"])
@pytest.mark.parametrize(("scale", "shift", "power"), [(1, 0, 1), (2.9, 0, 1), (1, -0.25, 1.07), (1.5, 0.3, 2.5)])
def test_equals_the_formulas(similarity, scale, shift, power):
    expected = [[transformed(h, scale, shift, power, similarity) for h in row] for row in SCORES.double().tolist()]
    found = transform(SCORES.double(), scale, shift, power, similarity)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0)


def test_one_zero_one_is_the_identity_bit_for_bit():
    generator = torch.Generator().manual_seed(0)
    scores = 10 * torch.randn(50, 40, generator=generator)
    assert torch.equal(transform(scores, 1, 0, 1, "jaccard"), torch.sigmoid(scores))
    assert torch.equal(transform(scores, 1, 0, 1, "cosine"), scores)
    assert Transform("jaccard").is_identity
    assert not Transform("jaccard", power=2.0).is_identity


def test_a_power_of_a_negative_score_keeps_the_sign():
    found = transform(torch.tensor([-4.0, 4.0]), 1, 0, 0.5, "cosine")
    assert found.tolist() == [-2.0, 2.0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["scale", "shift", "power"])
def test_a_parameter_that_is_not_finite_is_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=f"the {name} of a transform is {value}"):
        Transform("jaccard", **{name: value})


@pytest.mark.parametrize("name", ["scale", "power"])
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_scale_and_power_must_be_above_0(name, value):
    with pytest.raises(ConfigError, match="greater than 0"):
        Transform("cosine", **{name: value})


def test_scores_that_would_overflow_in_a_cosine_are_refused():
    with pytest.raises(ConfigError, match="smaller power"):
        transform(torch.tensor([30.0]), 1, 0, 40.0, "cosine")


def test_a_written_transform_is_read_again(tmp_path):
    file = str(tmp_path / "transform.json")
    Transform("jaccard", 2.7, -0.5, 1.0).write(file)
    assert json.loads((tmp_path / "transform.json").read_text()) == {
        "similarity": "jaccard",
        "scale": 2.7,
        "shift": -0.5,
        "power": 1.0,
    }
    assert read_transform(file, "jaccard") == Transform("jaccard", 2.7, -0.5, 1.0)


def test_a_transform_of_the_other_similarity_is_refused(tmp_path):
    Transform("cosine").write(str(tmp_path / "transform.json"))
    with pytest.raises(ConfigError, match="for cosine similarity"):
        read_transform(str(tmp_path / "transform.json"), "jaccard")


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        '{"similarity": "jaccard"}',
        '{"similarity": "dot", "scale": 1, "shift": 0, "power": 1}',
        '{"similarity": "jaccard", "scale": "1", "shift": 0, "power": 1}',
        '{"similarity": "jaccard", "scale": true, "shift": 0, "power": 1}',
        '{"similarity": "jaccard", "scale": NaN, "shift": 0, "power": 1}',
        '{"similarity": "jaccard", "scale": 1, "shift": 0, "power": 0}',
        '{"similarity": "jaccard", "scale": 1, "shift": 0, "power": 1, "more": 2}',
        '{"similarity": "jaccard", "scale": 1' + "0" * 400 + ', "shift": 0, "power": 1}',
    ],
)
def test_a_file_that_is_no_transform_is_named(tmp_path, content):
    (tmp_path / "transform.json").write_text(content)
    with pytest.raises(ConfigError, match=r"transform\.json"):
        read_transform(str(tmp_path / "transform.json"), "jaccard")
