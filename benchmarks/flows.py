"""How many of the product's files a reader passes who follows a flow: `python -m benchmarks.flows`.

A file counts where one of its functions runs; what an import runs does not. Three flows on a tiny synthetic world, in
this process: a training batch from its plan to the model's forward, `vtr train --scaling.workers 0`, `vtr search`.
"""

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PRODUCT = tuple(f"{ROOT / name}/" for name in ("vtr_core", "pipelines"))
PRESET = "capsule-howto-tiny"
BATCH, TRAIN, SEARCH = "a batch, from its plan to the model's forward", "vtr train --scaling.workers 0", "vtr search"
Functions = Mapping[str, set[str]]
"""By file of the product, relative to the repository, the functions in it that a flow enters."""


class _End(Exception):
    """Counting is over."""


def entered(flow: Callable[[], object], end: CodeType | None = None) -> Functions:
    """The functions that `flow` enters, in all threads, up to and including the one whose code is `end`."""
    functions: dict[str, set[str]] = {}
    outside = sys._getframe()  # noqa: SLF001

    def imported(frame: FrameType | None) -> bool:
        """Whether a module's own code, which an import runs, is among the callers within the flow."""
        while frame is not None and frame is not outside:
            if frame.f_code.co_name == "<module>":
                return True
            frame = frame.f_back
        return False

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_flags & CO_OPTIMIZED or not code.co_filename.startswith(PRODUCT):
            return
        if code.co_qualname not in functions.get(code.co_filename, ()) and not imported(frame):
            functions.setdefault(code.co_filename, set()).add(code.co_qualname)
        if code is end:
            raise _End

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        with suppress(_End):
            flow()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {str(Path(file).relative_to(ROOT)): names for file, names in sorted(functions.items())}


def batch_functions(data: str) -> Functions:
    """The functions between the plan of a data set and the model's forward of its first batch."""
    import torch

    from vtr_core.config.override import override
    from vtr_core.data.manifest import Manifest
    from vtr_core.data.plan import Part, Plan
    from vtr_core.data.stream.assemble import read_directly
    from vtr_core.run.build import build_model, build_task
    from vtr_core.run.inputs import training_reader, with_inputs
    from vtr_core.run.presets import preset

    manifest = Manifest.load(data)
    config = with_inputs(override(preset(PRESET), {"batch.videos": 4}), manifest)
    model, task = build_model(config.model), build_task(config, 0, 1)

    def flow() -> None:
        plan = Plan(manifest, config.batch, config.seed)
        reader = training_reader(config.model, manifest, plan.extra_captions)
        columns = next(read_directly(reader, plan, Part(0, 1), 0))
        task.step(model, columns, 0, torch.device("cpu"))

    return entered(flow, type(model).forward.__code__)


def measured(work: Path) -> dict[str, Functions]:
    """The three flows, on a world, a model and an index that are made in `work`."""
    from pipelines.cli import run

    data, trained, index = (str(work / name) for name in ("data", "run", "index"))
    sizes = ["--num-clips", "300", "--dim-2d", "16", "--dim-3d", "16", "--dim-audio", "8"]
    run("ingest", ["synthetic", *sizes, "--out", data, "--workers", "0"])
    settings = ["--scaling.workers", "0", "--training.epochs", "1", "--batch.videos", "4"]
    train = entered(lambda: run("train", [PRESET, "--data", data, "--out", trained, *settings]))
    run("index", [trained, "--data", f"{data}/test", "--out", index])
    search = entered(lambda: run("search", ["a query", "--index", index]))
    return {BATCH: batch_functions(f"{data}/train"), TRAIN: train, SEARCH: search}


def main() -> None:
    """Measure, and print a table."""
    with tempfile.TemporaryDirectory() as work, redirect_stdout(sys.stderr):
        os.environ.setdefault("MLFLOW_TRACKING_URI", f"sqlite:///{work}/mlflow.db")
        flows = measured(Path(work))
    print("| flow | files | functions |\n|---|---:|---:|")
    for flow, functions in flows.items():
        print(f"| {flow} | {len(functions)} | {sum(map(len, functions.values()))} |")


if __name__ == "__main__":
    main()
