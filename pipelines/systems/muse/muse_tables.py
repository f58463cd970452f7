"""`vtr tables muse`: Tables 1 to 11 of Tang et al. 2025, published metrics beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.tables.command import PaperTablesFlags, run_paper
from pipelines.tables.paper import load_paper
from vtr_core.errors import ConfigError
from vtr_core.storage.location import below

PAPER = load_paper("muse")
SYNTHETIC_PRESET = "muse-tokens-tiny"


@dataclass(frozen=True)
class TablesFlags(PaperTablesFlags):
    """Flags of `vtr tables muse`; settings of all runs are given as --a.b value."""

    preset: str = "muse-msrvtt"
    """Base preset, whose variants are the rows; a small one makes small tables."""
    test: tuple[str, ...] = ()
    """Test sets as name=URI; msrvtt fills the paper's columns, others get columns of their own."""
    synthetic: bool = False
    """Make a synthetic data set of small objects, and small tables on it; no data needed."""
    out: str = "runs/tables-muse"
    """Folder of the runs and tables; finished runs are reused, interrupted ones resumed."""
    benchmark: str = "benchmarks/results/muse.json"
    """Result of `python -m benchmarks.muse`, for the memory column."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    run_paper(argv, "muse", TablesFlags, tables)


def tables(flags: TablesFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, writes `tables.md` and `tables.json` into the folder, and returns the page."""
    from pipelines.tables.runs import (
        chosen_tables,
        parse_test_set,
        read_results,
        sweep,
        variants_of,
        with_costs,
        write_page,
    )

    chosen = chosen_tables(PAPER, flags)
    flags = _with_synthetic(flags) if flags.synthetic else flags
    test_sets = [parse_test_set(word, "retrieval") for word in flags.test]
    alike = _alike(flags, changes, variants_of(chosen))
    trained = sorted(set(alike.values()))
    if flags.data is not None:
        sweep(PAPER, flags, test_sets).run_variants(flags.preset, trained, changes)
    found = read_results(flags.out, trained, test_sets, flags.seeds)
    figures = {variant: found.figures[other] for variant, other in alike.items()}
    said = {variant: found.similarities[other] for variant, other in alike.items() if other in found.similarities}
    missing = PAPER.not_given({one.name for one in test_sets}, flags.data)
    found = replace(found, figures=figures, similarities=said, missing=missing)
    results = with_costs(found, flags.benchmark, "muse", _costs)
    return write_page(PAPER, flags, changes, chosen, results, test_sets)


def _alike(flags: TablesFlags, changes: Mapping[str, Any], variants: Sequence[str]) -> dict[str, str]:
    """For each variant the first one with an identical configuration, which is trained for it: often the base, ""."""
    from vtr_core.config.override import override
    from vtr_core.run.presets import preset

    trained: list[tuple[Any, str]] = []
    found = {}
    for variant in dict.fromkeys(["", *variants]):
        name = f"{flags.preset}-{variant}" if variant else flags.preset
        config = override(preset(name), {**changes, "preset": flags.preset})
        found[variant] = next((other for made, other in trained if made == config), variant)
        if found[variant] == variant:
            trained.append((config, variant))
    return {variant: found[variant] for variant in variants}


def _with_synthetic(flags: TablesFlags) -> TablesFlags:
    """The flags with synthetic data, created if missing, and the small preset."""
    from pipelines.tables.runs import synthetic_data
    from vtr_core.data.sources.synthetic import SyntheticTokens

    if flags.data is not None:
        raise ConfigError("--synthetic makes its own training data; leave out --data, or --synthetic")
    data = synthetic_data(SyntheticTokens(), below(flags.out, "synthetic"))
    preset = flags.preset if flags.preset != "muse-msrvtt" else SYNTHETIC_PRESET
    return replace(flags, preset=preset, data=data, test=(*flags.test, f"synthetic={below(data, 'test')}"))


def _costs(measured: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The memory of a training step with each learner, relative to Mamba's."""
    memory = {one["learner"]: one["peak_gb"] for one in measured["learners"] if one["peak_gb"] is not None}
    variants = {"transformer": "transformer", "flash": "flash", "mamba_out": "mamba-out", "mamba": ""}
    return {variants[name]: {"memory": own / memory["mamba"]} for name, own in memory.items() if name in variants}
