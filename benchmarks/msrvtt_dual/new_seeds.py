"""New seeds for the searches that hold mAP: hybrid and concepts alone, trained after the searches were fixed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.msrvtt_dual.data import PRESET
from pipelines.systems.dual.thesis_measurements import Sets, flat, measure
from pipelines.systems.dual.thesis_tables import SET
from pipelines.tables.runs import Sweep, TestSet, figures_file, run_folder
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.run.presets import preset
from vtr_core.storage import locate

VARIANTS = ("concept", "")
"""By name as in `page.NAMES`: those with concepts that are searched for."""
_SPACE = f"{SET}/concepts, "


def train_new_seeds(
    seeds: Sequence[int], sets: Sets, out: str, settings: Mapping[str, object]
) -> dict[str, dict[str, list[float]]]:
    """By variant and metric the figures by seed, of the ways to score by concepts; finished runs are taken as is."""
    rows: dict[str, dict[str, list[float]]] = {}
    for variant in VARIANTS:
        for seed in seeds:
            found = _figures(variant, seed, sets, out, settings)
            for name, value in found.items():
                if name.startswith(_SPACE) and name.endswith(("/map", "/c10")):
                    rows.setdefault(variant, {}).setdefault(name, []).append(value)
    return rows


def _figures(variant: str, seed: int, sets: Sets, out: str, settings: Mapping[str, object]) -> dict[str, float]:
    test = TestSet(SET, sets.test, "thesis")
    folder = run_folder(out, variant, seed)
    place = locate(figures_file(folder, test))
    if not storage.exists(place):
        named = preset(f"{PRESET}-{variant}" if variant else PRESET)
        sweep = Sweep(out, str(Path(sets.train).parent), None, [test], 1, "msrvtt-dual")
        checkpoint = sweep.train(override(named, {**settings, "seed": seed}), folder)
        figures = flat(measure(checkpoint, sets, detectors=False), SET)
        storage.write_json(place, {"uri": sets.test, "figures": figures, "chance": {}})
    found: dict[str, float] = storage.read_json(place)["figures"]
    return found
