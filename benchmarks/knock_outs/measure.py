"""One row: a preset trained with several seeds, judged with and without its mechanism, and trained anew without it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.knock_outs.mechanisms import MECHANISMS, Changes, Mechanism
from benchmarks.knock_outs.worlds import WORLDS, Place
from benchmarks.machine import processor, versions
from pipelines.tables.runs import Sweep, TestSet
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.run.presets import preset
from vtr_core.storage import locate


def measure(name: str, place: Place, seeds: int, settings: Changes) -> dict[str, Any]:
    """The row of JSON: lists of the figure by seed, in the order of seeds; null where the row has no such way.

    settings: changes of all runs beside the row's own.
    """
    one = MECHANISMS[name]
    data = WORLDS[one.world](place)
    config = override(preset(one.preset), {**one.changes, "scaling.workers": 0, **settings})
    test = TestSet(one.world, data["test"], config.model.system().evaluation or "retrieval")
    folder = f"{place.work}/runs/{one.preset}-{one.world}"
    plain = _trained(folder, "as-it-is", config, data, seeds, test, one)
    without = None
    if one.without is not None:
        without = _trained(folder, f"without-{name}", override(config, one.without), data, seeds, test, None)
    return {
        "system": config.model.system().name,
        "preset": one.preset,
        "data": one.world,
        "what": one.what,
        "figure": one.heading,
        "settings": [f"{setting}={json.dumps(value)}" for setting, value in settings.items()],
        "with": [figures[one.metric] for figures in plain],
        "switched_off": None if one.off is None else [figures[f"{one.off}/{one.metric}"] for figures in plain],
        "trained_without": None if without is None else [figures[one.metric] for figures in without],
        "machine": f"{processor()}; torch {versions('torch')['torch']}",
    }


def _trained(
    folder: str, row: str, config: Any, data: Mapping[str, str], seeds: int, test: TestSet, one: Mechanism | None
) -> list[Mapping[str, float]]:
    """By seed the figures of the trained runs, with those of `one` switched off among them."""
    sweep, found = Sweep(folder, data["train"], data["val"], [], seeds, "knock-outs"), []
    for seed in range(seeds):
        run = f"{folder}/{row}/seed-{seed}"
        off = "" if one is None or one.off is None else f"-{one.off}"
        place = locate(f"{run}/figures{off}.json")
        if not storage.exists(place):
            checkpoint = sweep.train(override(config, {"seed": seed}), run)
            storage.write_json(place, evaluated(checkpoint, test, () if one is None else one.knock_out))
        found.append(storage.read_json(place))
    return found


def evaluated(checkpoint: str, test: TestSet, knock_out: Sequence[str]) -> dict[str, float]:
    """All figures of `vtr evaluate` by metric name, without the name of the data set before it."""
    match test.kind:
        case "retrieval":
            from pipelines.evaluate.evaluation_flags import EvaluateFlags
            from pipelines.evaluate.retrieval import evaluate

            flags = EvaluateFlags(checkpoint, (test.uri,), knock_out=tuple(knock_out), experiment="knock-outs")
            (result,) = evaluate(flags)
            return {name.split("/", 2)[2]: value for name, value in result.metrics().items()}
        case "verification":
            from pipelines.systems.siamese.face_verification import VerificationFlags
            from pipelines.systems.siamese.face_verification import evaluate as verify

            (verified,) = verify(
                VerificationFlags(checkpoint, (test.uri,), knock_out=tuple(knock_out), experiment="knock-outs")
            )
            return {name.partition("/")[2]: value for name, value in verified.metric_values("figures").items()}
        case "captioning":
            from pipelines.systems.captioning.caption_metrics import CaptioningFlags
            from pipelines.systems.captioning.caption_metrics import evaluate as describe

            (described,) = describe(CaptioningFlags(checkpoint, (test.uri,), experiment="knock-outs"))
            return {name.partition("/")[2]: value for name, value in described.metrics("figures").items()}
        case task:
            raise AssertionError(f"no figures without a mechanism of --task {task}")
