"""What people's scripts and stored models rely on: functions, commands, flags, presets, loaders, the version."""

import difflib
import inspect
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import vtr_core
from pipelines.commands import COMMANDS
from tests import command_lines
from vtr_core.run.presets import PRESETS

NAMES = [
    "vtr_core.metrics.ranking.retrieval_metrics",
    "vtr_core.metrics.localization.ordered_steps",
    "vtr_core.metrics.captioning.cider",
    "vtr_core.metrics.verification.verification_metrics",
    "vtr_core.similarity.cosine",
    "vtr_core.similarity.generalized_jaccard",
    "vtr_core.similarity.hybrid",
    "vtr_core.losses.contrastive.masked_margin_softmax",
    "vtr_core.losses.contrastive.info_nce",
    "vtr_core.losses.contrastive.mil_nce",
    "vtr_core.losses.contrastive.max_margin_ranking",
    "vtr_core.losses.contrastive.sigmoid_contrastive",
    "vtr_core.losses.ranking.hardest_negative_triplet",
    "vtr_core.losses.pair.contrastive",
    "vtr_core.losses.pair.double_margin",
    "vtr_core.losses.gmc.bias_loss",
    "vtr_core.losses.gmc.fusion_contrastive_loss",
    "vtr_core.losses.gmc.margin_contrastive_loss",
    "vtr_core.nn.mamba.scan.selective_scan",
    "vtr_core.analysis.transforms.transform",
    "vtr_core.analysis.causality.contributions",
    "vtr_core.analysis.causality.causality_at_k",
    "vtr_core.run.presets.preset",
    "vtr_core.run.config.TrainConfig",
    "vtr_core.config.override.override",
    "vtr_core.run.build.build_model",
    "vtr_core.train.checkpoint.load_model",
    "vtr_core.data.manifest.Manifest",
]

STAGES = (
    "extract ingest concepts tagger train sweep evaluate embed analyze index search serve explain caption verify "
    "tables export import submit runs data doctor demo"
)
PRESET_NAMES = (
    "capsule-howto capsule-howto-tiny capsule-msrvtt hybrid-msrvtt hybrid-msrvtt-tiny muse-msrvtt muse-msrvtt-tiny "
    "siamese-att siamese-att-tiny caption-msrvtt caption-msrvtt-tiny clip4clip-msrvtt adapter"
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_where_it_was(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert callable(getattr(import_module(module), attribute))


def test_every_command_is_there_by_both_its_names() -> None:
    assert set(STAGES.split()) <= {command.name for command in COMMANDS}
    for command in COMMANDS:
        spec = find_spec(f"pipelines.{command.name}")
        assert spec is not None
        if spec.submodule_search_locations is None:
            assert f'vtr("{command.name}")' in inspect.getsource(import_module(spec.name))
        else:
            assert find_spec(f"{spec.name}.__main__") is not None


def test_a_stage_is_a_program_too() -> None:
    done = subprocess.run([sys.executable, "-m", "pipelines.tables"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: vtr tables <paper>")


def test_presets_are_there() -> None:
    assert set(PRESET_NAMES.split()) <= set(PRESETS)


def test_flags_settings_and_presets_are_the_recorded_ones() -> None:
    recorded, found = command_lines.FILE.read_text().splitlines(), command_lines.lines()
    changed = difflib.unified_diff(recorded, found, "recorded", "found", lineterm="", n=1)
    assert recorded == found, "\n".join(
        [*changed, "what is gone or changed breaks scripts; python -m tests.command_lines records it all the same"]
    )


def test_what_stored_models_name_can_load_them() -> None:
    """MLflow keeps this name in the folder of every registered model."""
    assert callable(import_module("vtr_core.train.served_model")._load_pyfunc)


def test_the_code_knows_the_version_that_it_is_installed_as() -> None:
    project = Path(__file__).parents[1] / "pyproject.toml"
    assert vtr_core.__version__ == tomllib.loads(project.read_text())["project"]["version"]
