"""Figures are well-formed XML with a mark for each trial; text is escaped."""

import xml.etree.ElementTree as ET

from tune_spaces.spaces import build_space
from tune_spaces.sweep_figures import Importance, Scored, importance_bars, parallel_coordinates, pareto
from vtr_core.config.domains import Choice
from vtr_core.config.search_space import Parameter, Space, planned_points
from vtr_core.systems.all import SYSTEMS

SPACE = build_space("capsule-howto-tiny", SYSTEMS)
TRIALS = [Scored(str(i), p, 50.0 + i, 1000 * (i + 1)) for i, p in enumerate(planned_points(SPACE, "random", 8, 0))]
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter(f"{SVG}text")]


def test_a_line_for_each_trial() -> None:
    svg = parallel_coordinates(SPACE, TRIALS, "val/t2v/sum_r")
    lines = list(ET.fromstring(svg).iter(f"{SVG}polyline"))
    assert len(lines) == 8
    assert lines[-1].find(f"{SVG}title").text == "trial 7: 57"  # type: ignore[union-attr]
    assert {"loss.temperature", "num_capsules", "val/t2v/sum_r", "50", "57", "32"} <= set(texts(svg))


def test_one_trial_or_equal_ones() -> None:
    ET.fromstring(parallel_coordinates(SPACE, TRIALS[:1], "m"))
    ET.fromstring(pareto([TRIALS[0], TRIALS[0]], "m"))


def test_bars() -> None:
    svg = importance_bars([Importance("model.num_capsules", 0.5, 9), Importance("loss", 0.0, 9)], "m")
    assert {"model.num_capsules", "0.50  (9 trials)", "0.00  (9 trials)"} <= set(texts(svg))


def test_the_front_is_named() -> None:
    svg = pareto([Scored("a", {}, 1.0, 10), Scored("b", {}, 2.0, 20), Scored("c", {}, 0.5, 30)], "m")
    assert {"a", "b"} <= set(texts(svg))
    assert "c" not in texts(svg)


def test_text_is_escaped() -> None:
    evil = "</text><script>alert(1)</script>"
    space = Space(evil, "p", {evil: Parameter(Choice((evil, "b")))})
    trials = [Scored(evil, {evil: evil}, 1.0, 1), Scored("2", {evil: "b"}, 2.0, 2)]
    figures = [
        parallel_coordinates(space, trials, evil),
        importance_bars([Importance(evil, 1.0, 4)], evil),
        pareto(trials, evil),
    ]
    for svg in figures:
        assert "<script" not in svg
        assert any(evil in text for text in texts(svg))
