"""Presets of `vtr train`'s help and of its list: a dozen to start with, and the names of all by their rule."""

import re

import pytest

from pipelines.cli import run
from pipelines.systems.registry import SYSTEMS
from vtr_core.run.presets import PRESETS, preset


def test_help_names_a_dozen_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    run("train", ["--help"])
    names = re.findall(r"^  (\S+) {2,}\S", capsys.readouterr().out, re.MULTILINE)
    assert set(names) <= set(PRESETS)
    assert 10 <= len(names) <= 15
    for system in SYSTEMS:
        assert set(system.presets().bases) & set(names), system.name


def test_the_list_has_every_base_variant_and_recipe_by_system(capsys: pytest.CaptureFixture[str]) -> None:
    run("train", ["--list"])
    lines = capsys.readouterr().out.splitlines()
    for system in SYSTEMS:
        table = system.presets()
        begin = next(number for number, line in enumerate(lines) if line.startswith(f"{system.name}, trained on"))
        block = lines[begin : lines.index("", begin)] if "" in lines[begin:] else lines[begin:]
        shown = [line.split()[0] for line in block if re.match(r" +[a-z0-9-]+ {1,}", line)]
        for name, row in {**table.bases, **table.variants, **table.recipes}.items():
            assert name in shown
            assert row.about.split()[0] in next(line for line in block if line.split()[0] == name)
    assert max(map(len, lines)) <= 110


def test_a_recipe_trains_a_variant_in_its_way() -> None:
    both = preset("hybrid-msrvtt-published-concept")
    assert (both.model.latent_dim, both.model.compat) == (None, "hybrid_space")
    assert preset("siamese-att-published-alexnet").optimizer.learning_rate == 1e-3
    assert "caption-pretrain-baseline" not in PRESETS
