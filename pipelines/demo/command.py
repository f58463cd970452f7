"""`vtr demo`: ingest, training and evaluation on synthetic data, in minutes on a laptop."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipelines.arguments import parse, print_help, wants_help

if TYPE_CHECKING:
    from pipelines.train.finished import Finished

PRESET = "capsule-howto-tiny"


@dataclass(frozen=True)
class DemoFlags:
    """Flags of `vtr demo`."""

    videos: bool = False
    """Start from video files: render films of coloured shapes, extract features, train, and search them."""
    films: int = 560
    """With --videos: number of films, of which the last 100 are the test set."""
    clips: int = 6000
    """Without --videos: approximate number of synthetic clips."""
    seed: int = 0
    """Random seed of the data and of training."""
    workers: int = 2
    """Number of training workers."""
    data: str | None = None
    """Data set folder (default: data/synthetic-<clips>-<seed>, with --videos data/films-<films>-<seed>); an existing
    data set is reused."""
    out: str | None = None
    """Run folder (default: runs/demo-<time>)."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print_help("vtr demo", DemoFlags)
        return
    flags = parse(DemoFlags, argv, "vtr demo")
    if flags.videos:
        from pipelines.demo.from_videos import demo_from_videos

        demo_from_videos(flags)
    else:
        demo(flags)


def demo(flags: DemoFlags) -> None:
    """Ingest, train, evaluate, and print the next steps."""
    from pipelines.evaluate.flags import EvaluateFlags
    from pipelines.evaluate.retrieval import evaluate
    from pipelines.ray_session import connect
    from pipelines.train.command import TrainFlags, train
    from vtr_core.config.override import override
    from vtr_core.run.presets import preset

    config = override(preset(PRESET), {"scaling.workers": flags.workers, "seed": flags.seed})
    connect(config.scaling.cpus)
    data = flags.data or f"data/synthetic-{flags.clips}-{flags.seed}"
    print("1/3 a synthetic world of narrated videos, ingested to Parquet shards")
    _data(data, flags)
    print(f"\n2/3 training {PRESET} with {flags.workers} workers")
    out = flags.out or f"runs/demo-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"
    finished = train(config, TrainFlags(data=data, out=out))
    print("\n3/3 zero-shot retrieval on videos that training never saw\n")
    evaluate(EvaluateFlags(finished.checkpoint, (f"{data}/test",)))
    print(_next(data, learning_curve_file(data, finished), finished))


def _data(data: str, flags: DemoFlags) -> None:
    from pipelines.ingest.command import IngestFlags, ingest, report
    from vtr_core.data.manifest import splits
    from vtr_core.data.sources.synthetic.clips import Synthetic

    if splits(data):
        print(f"  {data} is there already")
        return
    report(ingest(Synthetic(num_clips=flags.clips, seed=flags.seed), IngestFlags(out=data)))


def learning_curve_file(data: str, finished: "Finished") -> str:
    """Write the learning curve into the run's folder; returns its location."""
    from pipelines.analyze.files import write_figure
    from pipelines.demo.learning_curve import learning_curve
    from vtr_core.data.manifest import Manifest
    from vtr_core.storage import locate
    from vtr_core.tracking.json_lines import read_lines

    run = locate(finished.run)
    place = run / "learning_curve.png"
    chance = min(100.0, 100 * 10 / Manifest.load(f"{data}/val").rows)
    write_figure(place, learning_curve(read_lines(run / "metrics.jsonl"), chance))
    return str(place)


def mlflow_page(finished: "Finished") -> str:
    """Instructions for viewing the run in MLflow."""
    from pipelines.train.command import TrainFlags
    from vtr_core.tracking.run import TrackedRun, full_tracking_uri
    from vtr_core.tracking.run_page import has_server, run_page

    if finished.mlflow_run_id is None:
        return f"MLflow did not take the run: everything is in {finished.run}"
    page = run_page(TrackedRun(full_tracking_uri(finished.tracking_uri), TrainFlags.experiment, finished.mlflow_run_id))
    if has_server(finished.tracking_uri):
        return page
    return f"mlflow ui --backend-store-uri {finished.tracking_uri}\n                then {page}"


def _next(data: str, curve: str, finished: "Finished") -> str:
    return f"""
learning curve  {curve}
checkpoint      {finished.checkpoint}
MLflow          {mlflow_page(finished)}

try next        {_activation()}vtr evaluate {finished.checkpoint} --data {data}/val {data}/test
                vtr train {PRESET} --data {data} --loss.margin.value 0.1 --model.num-capsules 32
your own data   a table of clips, clips.csv, with the columns id, caption, video, audio; the last two name .npy files
                vtr ingest pairs --table clips.csv --feature-columns video audio \\
                    --splits train .8 val .1 test .1 --out data/mine
                vtr train {PRESET} --data data/mine --out runs/mine
                vtr evaluate runs/mine --data data/mine/test
"""


def _activation() -> str:
    """The shell command that activates the virtual environment; empty where it is active or there is none."""
    if sys.prefix == sys.base_prefix or os.environ.get("VIRTUAL_ENV") == sys.prefix:
        return ""
    return f". {os.path.relpath(sys.prefix)}/bin/activate\n                "
