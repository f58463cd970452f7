"""`vtr demo`: ingest, training and evaluation on synthetic data, in minutes on a laptop."""

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipelines.arguments import check_counts, parse, print_help, wants_help
from pipelines.demo.flags import DemoFlags
from pipelines.demo.results import learning_curve_file, mlflow_page
from pipelines.demo.world import CHANGES, PRESET, world
from vtr_core.uris import below

if TYPE_CHECKING:
    from pipelines.train.finished import Finished


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print_help("vtr demo", DemoFlags)
        return
    flags = parse(DemoFlags, argv, "vtr demo")
    check_counts("vtr demo", films=flags.films, clips=flags.clips)
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

    config = override(preset(PRESET), {**CHANGES, "scaling.workers": flags.workers, "seed": flags.seed})
    connect(config.scaling.cpus)
    data = flags.data or f"data/scenes-{flags.clips}-{flags.seed}"
    print("1/3 a synthetic world of narrated videos, whose places decide what features mean, to Parquet shards")
    _data(data, flags)
    print(f"\n2/3 training {PRESET} with {flags.workers or 'no'} workers")
    out = flags.out or f"runs/demo-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"
    finished = train(config, TrainFlags(data=data, out=out))
    print("\n3/3 retrieval of videos that training never saw, and without the capsules' activations\n")
    evaluate(EvaluateFlags(finished.checkpoint, (below(data, "test"),), knock_out=("activations",)))
    print(_next(data, learning_curve_file(data, finished), finished))


def _data(data: str, flags: DemoFlags) -> None:
    from pipelines.ingest.command import ingest
    from pipelines.ingest.flags import IngestFlags
    from pipelines.ingest.report import report
    from vtr_core.data.manifest import splits

    if splits(data):
        print(f"  {data} is there already")
        return
    report(ingest(world(flags.clips, flags.seed), IngestFlags(out=data)))


def _next(data: str, curve: str, finished: "Finished") -> str:
    return f"""
learning curve  {curve}
checkpoint      {finished.checkpoint}
MLflow          {mlflow_page(finished)}

try next        {_activation()}vtr evaluate {finished.checkpoint} --data {data}/val {data}/test
                vtr explain {finished.checkpoint} --capsules --data {data}/test
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
