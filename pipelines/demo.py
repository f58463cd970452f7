"""`vtr demo`: the whole path on a synthetic world, from nothing to a table of figures, in minutes on a laptop."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pipelines.arguments import parse, print_help, wants_help

PRESET = "capsule-howto-tiny"


@dataclass(frozen=True)
class DemoFlags:
    """Size and place of the demonstration."""

    clips: int = 6000
    """Clips of the synthetic world, about."""
    seed: int = 0
    """Of the world, and of the training."""
    workers: int = 2
    """Train workers."""
    data: str | None = None
    """Folder for the data set (default: data/synthetic-<clips>-<seed>; an existing one is used as it is)."""
    out: str | None = None
    """Folder for the run (default: runs/demo-<time>)."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print_help("vtr demo", DemoFlags)
        return
    demo(parse(DemoFlags, argv, "vtr demo"))


def demo(flags: DemoFlags) -> None:
    """Ingest, train, evaluate, and say what to do next."""
    from pipelines.evaluate_retrieval import EvaluateFlags, evaluate
    from pipelines.ray_session import connect
    from pipelines.train import TrainFlags, train
    from vtr_core.config.override import override
    from vtr_core.config.presets import preset

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
    print(_next(data, finished.checkpoint, finished.tracking_uri))


def _data(data: str, flags: DemoFlags) -> None:
    from pipelines.ingest import IngestFlags, ingest, report
    from vtr_core.data.manifest import splits
    from vtr_core.data.sources.synthetic import Synthetic

    if splits(data):
        print(f"  {data} is there already")
        return
    report(ingest(Synthetic(num_clips=flags.clips, seed=flags.seed), IngestFlags(out=data)))


def _next(data: str, checkpoint: str, tracking_uri: str) -> str:
    return f"""
checkpoint  {checkpoint}
next        mlflow ui --backend-store-uri {tracking_uri}
            vtr evaluate {checkpoint} --data {data}/val {data}/test
            vtr train {PRESET} --data {data} --loss.margin.value 0.1 --model.num-capsules 32
            vtr ingest pairs --help          your own data
"""


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("demo")
