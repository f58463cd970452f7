"""Every key and every end and choice of every space is a configuration and a model that can be built."""

import pytest

from tune_spaces.spaces import (
    build_space,
    check_space,
    describe_space,
    describe_spaces,
    search_spaces,
)
from vtr_core.config.override import override
from vtr_core.config.search_space import (
    Choice,
    Integer,
    LogUniform,
    OnlyWith,
    Parameter,
    Space,
    Uniform,
    Variant,
    extremes,
)
from vtr_core.errors import ConfigError
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.systems.all import SYSTEMS

FEATURES = {"model.inputs.features": {"video": 32, "audio": 8}, "model.inputs.num_words": 10}
TOKENS = {**FEATURES, "model.inputs.features": {"video": 50 * 16, "text": 16}}


def base(name: str) -> TrainConfig:
    inputs = {} if name.startswith("siamese") else TOKENS if name == "muse-msrvtt" else FEATURES
    return override(preset(build_space(name, SYSTEMS).preset), inputs)


@pytest.mark.parametrize("name", search_spaces(SYSTEMS))
def test_every_end_and_choice_is_a_configuration(name: str) -> None:
    space = build_space(name, SYSTEMS)
    assert space.name == name
    check_space(space, base(name))
    seen = {(key, value) for point in extremes(space) for key, value in point.items()}
    for key, parameter in space.parameters.items():
        assert {(key, value) for value in parameter.domain.levels(2)} <= seen


@pytest.mark.parametrize("name", search_spaces(SYSTEMS))
def test_a_setting_stands_after_those_it_depends_on(name: str) -> None:
    names = list(build_space(name, SYSTEMS).parameters)
    for key, parameter in build_space(name, SYSTEMS).parameters.items():
        only = parameter.only_with
        if only is not None:
            assert names.index(only.name) < names.index(key)
            assert set(only.values) <= set(build_space(name, SYSTEMS).parameters[only.name].domain.levels(2))


def test_the_point_reaches_the_configuration() -> None:
    space = build_space("capsule-howto", SYSTEMS)
    point = {"loss": "geometric margin", "loss.margin.factor": 1.004, "model.routing": "self_attention, 4 heads"}
    config = space.applied(base("capsule-howto"), point)
    assert config.loss.margin.factor == 1.004  # type: ignore[union-attr]
    assert config.model.routing.num_heads == 4  # type: ignore[union-attr]


def test_a_fault_in_a_space_names_the_point() -> None:
    wrong = Space("wrong", "capsule-howto-tiny", {"model.num_capsules": Parameter(Choice((8, 0)))})
    with pytest.raises(ConfigError, match=r"wrong does not suit .*model.num_capsules.*\(at model.num_capsules = 0\)"):
        check_space(wrong, base("capsule-howto-tiny"))
    with pytest.raises(ConfigError, match=r"no setting model\.capsules"):
        check_space(Space("w", "", {"model.capsules": Parameter(Choice((8,)))}), base("capsule-howto-tiny"))


def test_settings_count_only_where_they_exist() -> None:
    # 4 numbers of capsules with 3 margins or 3 temperatures each
    grid = build_space("capsule-howto-tiny", SYSTEMS).grid()
    assert len({tuple(point.items()) for point in grid}) == len(grid) == 24
    for point in grid:
        assert ("loss.temperature" in point) == (point["loss"] == "temperature")
        assert ("loss.margin.value" in point) == (point["loss"] == "margin")


def test_a_given_setting_is_not_searched() -> None:
    space, config = build_space("capsule-howto-tiny", SYSTEMS), base("capsule-howto-tiny")
    assert list(space.fixed(["model.num_capsules"], config).parameters) == ["loss", *list(space.parameters)[1:3]]
    given = override(config, {"loss.kind": "info_nce"})
    assert list(space.fixed(["loss.kind"], given).parameters) == ["loss.temperature", "model.num_capsules"]
    assert list(space.fixed(["loss.kind"], config).parameters) == ["loss.margin.value", "model.num_capsules"]
    with pytest.raises(ConfigError, match="nothing of capsule-howto-tiny is left to vary"):
        space.fixed(["loss.kind", "loss.margin.value", "model.num_capsules"], config)


def test_only_some_settings() -> None:
    space = build_space("capsule-howto-tiny", SYSTEMS)
    assert list(space.only(["model.num_capsules"]).parameters) == ["model.num_capsules"]
    assert space.only([]) == space
    with pytest.raises(ConfigError, match=r"does not vary model\.size; it varies loss,"):
        space.only(["model.size"])
    assert space.only(["loss.margin.value"]).grid()[0].keys() == {"loss.margin.value"}


def test_an_unknown_space() -> None:
    with pytest.raises(ConfigError, match=r"did you mean capsule-howto\?$"):
        build_space("capsule-howtoo", SYSTEMS)


def test_help_has_every_setting() -> None:
    shown = " ".join(describe_spaces(SYSTEMS).split())
    for name in search_spaces(SYSTEMS):
        assert f"{name} {', '.join(build_space(name, SYSTEMS).parameters)}" in shown
    assert "loss.temperature    0.02 to 1, logarithmic  (with loss: temperature)" in describe_space(
        build_space("capsule-howto-tiny", SYSTEMS)
    )


def test_extremes_bring_what_a_setting_depends_on() -> None:
    space = Space(
        "s",
        "p",
        {"a": Parameter(Choice((1, 2))), "b": Parameter(Choice((5, 6)), OnlyWith("a", (2,)))},
    )
    assert extremes(space) == [{"a": 1}, {"a": 2, "b": 5}, {"a": 2, "b": 5}, {"a": 2, "b": 6}]


def test_a_sequence_is_chosen_by_its_label() -> None:
    space, config = build_space("muse-msrvtt", SYSTEMS), base("muse-msrvtt")
    assert space.applied(config, {"model.scales": "1, 3"}).model.scales == (1, 3)  # type: ignore[union-attr]


def test_golden_levels() -> None:
    assert LogUniform(0.01, 1.0).levels(3) == pytest.approx([0.01, 0.1, 1.0])
    assert Uniform(0.0, 1.0).levels(3) == [0.0, 0.5, 1.0]
    assert Integer(0, 1).levels(3) == [0, 1]
    assert Integer(0, 7).levels(2) == [0, 7]
    assert Variant({"one": {"kind": "x"}, "two": (1, 2)}).levels(2) == ["one", "two"]
    assert Choice((3, 1)).levels(9) == [3, 1]
