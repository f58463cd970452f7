"""What a training prints: its rows, steps and memory before it, points, events and time left during it, its end."""

import math
import shlex
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

from pipelines.arguments import print_json
from pipelines.progress import Meter
from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.pretrained import ClipConfig, SwinConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.data.records.schema import ClipSchema
from vtr_core.errors import ConfigError, command_line
from vtr_core.limits import free_memory
from vtr_core.run.config import TrainConfig
from vtr_core.tracking.run import TrackedRun
from vtr_core.tracking.run_log import EventLog
from vtr_core.train.fleet.lease import Lease
from vtr_core.train.job import Report, total_steps
from vtr_core.train.tracked import Tracking

Shapes = Mapping[str, Sequence[int]]
_FLOAT32 = 4
_ROOM = 0.9
"""Share of the free memory that weights, gradients and moments may take; activations need some, too."""
_FEW_STEPS = 100
"""Steps below which a training is called short; of 150 films, 30 steps stay at chance and 180 do not."""


def state_bytes(config: TrainConfig, shapes: Shapes, frozen: Collection[str] = ()) -> int:
    """Bytes of weights, gradients and Adam's moments of one worker, in float32; a lower bound of what training needs.

    shapes: of all weights and buffers; frozen: those that are not trained. Weights, and for those that are trained
    gradients, two moments, and one more with AMSGrad; one more of all with a moving average. Activations, which depend
    on the batch, come on top.
    """
    every = sum(map(math.prod, shapes.values()))
    trained = sum(math.prod(shape) for name, shape in shapes.items() if name not in frozen)
    copies = every * (1 + (config.training.ema_decay is not None)) + trained * (3 + config.optimizer.amsgrad)
    return _FLOAT32 * copies


def require_memory(config: TrainConfig, shapes: Shapes, frozen: Collection[str] = (), there: int | None = None) -> None:
    """ConfigError where a training in this process cannot hold its weights; there: bytes of memory (default: free)."""
    needed, has = state_bytes(config, shapes, frozen), int(_ROOM * free_memory()) if there is None else there
    if config.scaling.workers == 0 and config.scaling.device != "gpu" and needed > has:
        largest = max(shapes, key=lambda name: math.prod(shapes[name]))
        raise ConfigError(
            f"the model cannot be trained here: its weights, gradients and moments alone take {_size(needed)}, and "
            f"{_size(has)} of memory are free for them; the largest weight is {largest} {tuple(shapes[largest])}: "
            f"choose less (vtr train {config.preset} --help), or a machine with more memory"
        )


def intention(
    config: TrainConfig,
    data: Manifest,
    validation: Manifest | None,
    plan: Plan,
    shapes: Shapes,
    init: str | None = None,
    frozen: Collection[str] = (),
) -> list[str]:
    """Lines for the terminal, before anything starts; init: the model to start from."""
    steps, batch = total_steps(config, plan), config.batch
    judged = "no validation" if validation is None else f"validation on {validation.rows:,} rows"
    rows = f"{batch.rows:,} rows a step, {batch.videos:,} videos × {batch.clips_per_video:,}"
    workers = config.scaling.workers
    where = "in this process" if workers == 0 else f"{workers} worker{'s' if workers > 1 else ''}"
    every = sum(map(math.prod, shapes.values()))
    held = sum(math.prod(shape) for name, shape in shapes.items() if name in frozen)
    still = f", {held:,} of them frozen" if held > every / 100 else ""  # fewer are statistics and the like
    return [
        f"data    {data.rows:,} rows of {data.videos:,} videos; {judged}",
        f"steps   {steps:,}, {plan.steps_per_epoch:,} an epoch; {rows}; {where}",
        *_few(steps, plan),
        *_repeated(batch, data),
        f"model   {every:,} weights{still}; with gradients and moments "
        f"{_size(state_bytes(config, shapes, frozen))} a worker, and activations",
        *([] if init else _random_backbone(config)),
    ]


def _repeated(batch: BatchConfig, data: Manifest) -> list[str]:
    """A line where a batch takes more clips of a video than videos have, so that it holds copies."""
    held = max(1, data.rows // data.videos)
    if not isinstance(data.schema, ClipSchema) or held >= batch.clips_per_video:
        return []
    return [
        f"        a video has {data.rows / data.videos:.1f} clips, and a batch takes {batch.clips_per_video} of each: "
        f"it holds copies, which teach nothing more; --batch.clips-per-video {held} takes each clip once"
    ]


def _few(steps: int, plan: Plan) -> list[str]:
    """A line where the whole training has fewer steps than a model needs to learn anything."""
    if steps >= _FEW_STEPS:
        return []
    epochs = math.ceil(2 * _FEW_STEPS / plan.steps_per_epoch)
    return [
        f"        so few steps seldom teach much; --training.epochs {epochs} makes {epochs * plan.steps_per_epoch:,}"
    ]


def _random_backbone(config: TrainConfig) -> list[str]:
    """A line where a backbone has random weights and a learning rate that is for pretrained ones."""
    rate = config.optimizer.learning_rate * config.optimizer.backbone_factor
    backbones = [value for value in vars(config.model).values() if isinstance(value, ClipConfig | SwinConfig)]
    pretrained = (each.weights is not None or getattr(each, "source", None) is not None for each in backbones)
    if config.optimizer.backbone_factor >= 1 or all(pretrained):
        return []
    return [
        f"        the backbone starts from random weights, at a learning rate of {rate:.0e}, which is for pretrained "
        "ones: give --model.backbone.weights FILE, or --optimizer.backbone-factor 1"
    ]


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


class TimeLeft:
    """Watches a training's reports, in a with-statement: steps a second and time left, as a bar or as lines.

    The clock starts at the first reported step, so that neither the workers' start, nor what the first steps wait for,
    nor the steps of an earlier part of the run count; after a restart it starts anew.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._stack, self._clock = ExitStack(), clock
        self._meter: Meter | None = None

    def __enter__(self) -> "TimeLeft":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def watching(self, take: Callable[[Report], None]) -> Callable[[Report], None]:
        """`take`, with every report that it gets looked at afterwards."""

        def watched(report: Report) -> None:
            take(report)
            self._look(report)

        return watched

    def _look(self, report: Report) -> None:
        match report:
            case {"event": "started" | "resumed" | "restarted"}:
                self._stack.close()
                self._meter = None
            case {"step": int(step), "total_steps": int(total)} if self._meter is None:
                self._meter = self._stack.enter_context(Meter(total, "steps", step, self._clock, under_way=True))
            case {"step": int(step), "total_steps": int(_)} if self._meter is not None:
                self._meter.tell(step)


class Reports:
    """Prints one line for each logged point and each event of a run, and stores the events."""

    def __init__(self, events: EventLog, tracking: Tracking, lease: Lease) -> None:
        self._events, self._tracking, self._lease = events, tracking, lease

    def take(self, report: Report) -> None:
        """Print a report: an event where it has the key "event", else a logged point."""
        self._lease.check()
        if "event" in report:
            self._take_event(dict(report))
        else:
            print(_point_line(report), flush=True)

    def _take_event(self, details: dict[str, Any]) -> None:
        event = details.pop("event")
        self._events.add(event, **details)
        if event == "finished" and details["metrics_sent"]:
            self._tracking.workers_sent_all()
        print(f"  {event_line(event, details)}", flush=True)


def _point_line(report: Report) -> str:
    place = f"  step {report['step']:>6}/{report['total_steps']}"
    if "train/loss" in report:
        return (
            f"{place}  epoch {report['train/epoch']:5.2f}  loss {report['train/loss']:8.4f}  "
            f"{report['train/samples_per_s']:8.0f} clips/s  waiting for data {report['train/data_wait']:4.0%}"
        )
    values = {name: value for name, value in report.items() if name.startswith("val/")}
    if not values:
        return f"{place}  skipped"
    shown = "  ".join(
        f"{name[4:]} {value:.{3 if name in _OF_PAIRS else 1}f}" for name, value in values.items() if _is_shown(name)
    )
    return f"{place}  validation  {shown}"


_OF_PAIRS = ("val/accuracy", "val/accuracy_at_margin", "val/auc", "val/eer")


def _is_shown(name: str) -> bool:
    ends = ("t2v/r1", "t2v/r5", "t2v/r10", "t2v/medr", "t2va/r10", "/cider", "/bleu4", "/rouge_l")
    return name.endswith(ends) or name in _OF_PAIRS


_COUNTED = {
    "restarted": "restarts",
    "worker_lost": "lost workers",
    "bad_shard": "bad row groups",
    "not_finite": "skipped steps",
    "checkpoint_failed": "failed checkpoints",
}
"""Events that are summed up at the end of a run, in the order of the summary."""
_ABOVE = 1.05
"""A loss of more than so many times that of equal vectors comes from large similarities, not from equal ones."""


def event_line(event: str, details: Mapping[str, Any]) -> str:
    """The description of an event in one line."""
    match event:
        case "started":
            return f"started with {_workers(details)}"
        case "reading":
            return f"workers are started; data is read on {details['on']}"
        case "initialised":
            return f"weights of {details['model']}: {details['tensors']}"
        case "resumed":
            again = details["steps_lost"]
            lost = f"{again} step{'s' if again != 1 else ''} done again" if again else "no step done again"
            return f"resumed at step {details['step']} with {_workers(details)}, {lost}"
        case "restarted":
            left = details.get("restarts_left")
            restarts = "" if left is None else f" ({left} restart{'s' if left != 1 else ''} left)"
            return f"starting again from the newest checkpoint: {details['reason']}{restarts}"
        case "not_finite":
            where = ", ".join(details["clips"]) or ", ".join(details["places"])
            return f"step {details['step']} skipped, its loss or gradient was not finite; it holds {where}"
        case "bad_shard":
            return f"rows replaced in every batch: {details['reason']}"
        case "checkpoint_failed":
            return f"no checkpoint at step {details['step']}: {details['reason']}"
        case "preempted" | "resized" | "interrupted":
            return f"{event}: ended at step {details['step']}, with a checkpoint"
        case "worker_lost":
            return f"a worker was lost: {details['reason']}"
        case "waiting":
            return f"waiting for nodes with room for {_workers(details)}"
        case "scan":
            return f"selective scans by the {details['backend']}: {details['reason']}"
        case "collapsed":
            return f"step {details['step']}: {details['what']}; {details['cause']}"
        case "at_chance":
            return f"step {details['step']}: the loss{_beside_chance(details['loss'], details['chance'])}"
        case "finished":
            chance = details.get("at_chance")
            loss = details.get("loss")  # earlier versions recorded none
            ended = "" if chance is None or loss is None else f"; the loss{_beside_chance(loss, chance)}"
            return f"finished at step {details['step']}{ended}"
        case _:
            return ", ".join([event.replace("_", " "), *(f"{name} {value}" for name, value in details.items())])


def counts_line(counts: Mapping[str, int]) -> str:
    """The number of faults of each kind in one line; empty where there were none."""
    return ", ".join(f"{counts[event]} {name}" for event, name in _COUNTED.items() if counts.get(event))


def _beside_chance(loss: float, chance: float) -> str:
    """A loss that was never below that of vectors which are all alike: at it, or above by more than a twentieth."""
    alike = f"that of vectors which are all alike ({chance:.4g})"
    if loss <= _ABOVE * chance:
        return f", {loss:.4g}, is {alike}: nothing is learned"
    return f", {loss:.4g}, is above {alike}: similarities are too far apart; go by the validation, and train longer"


def _workers(details: Mapping[str, Any]) -> str:
    number = details["workers"]
    return f"{number} worker{'s' if number != 1 else ''}"


@dataclass(frozen=True)
class Finished:
    """The result of a run."""

    run: str
    checkpoint: str
    tracking_uri: str
    """URI with passwords redacted."""
    mlflow_run_id: str | None
    faults: str
    """Counts of faults during the run as text; empty where there were none."""
    registered: str | None = None
    """`models:/NAME/VERSION` of the checkpoint; None where it was not registered."""
    validation: str = "URI"
    """The data set that chose the checkpoint."""
    task: str = "retrieval"
    """The task of `vtr evaluate --task` for the model."""


def print_end(finished: Finished, as_json: bool = False) -> None:
    """Print where the checkpoint and the MLflow run are, and what to do next; or the result as JSON."""
    if as_json:
        print_json(asdict(finished))
        return
    print(f"\ncheckpoint  {finished.checkpoint}")
    if finished.faults:
        print(f"faults      {finished.faults}; events.jsonl in {finished.run} has each of them")
    if finished.mlflow_run_id:
        print(f"MLflow run  {finished.mlflow_run_id} in {finished.tracking_uri}")
        if finished.tracking_uri.startswith("sqlite:"):
            print(f"            mlflow ui --backend-store-uri {shlex.quote(finished.tracking_uri)}")
    task = [] if finished.task == "retrieval" else ["--task", finished.task]
    model = finished.registered or finished.checkpoint
    print(f"next        {command_line('evaluate', model, *task, '--data', finished.validation)}")


def check_name(name: str | None) -> None:
    """ConfigError unless `name` can name a registered model, where there is one."""
    if name is not None:
        from vtr_core.tracking.models.registry import check_model_name

        check_model_name(name)


def register_best(tracked: TrackedRun | None, checkpoint: str, name: str, run: str) -> str | None:
    """Register the checkpoint; returns the model's URI, or None, with printed instructions, where MLflow fails."""
    from pipelines.systems.registry import SYSTEMS
    from vtr_core.errors import CheckpointError
    from vtr_core.tracking.models.registry import CHAMPION, register_checkpoint

    try:
        if tracked is None:
            raise CheckpointError("MLflow did not take the run")
        version = register_checkpoint(tracked, checkpoint, name, SYSTEMS)
    except CheckpointError as error:
        print(f"not registered: {error}; {command_line('train', '--resume', run, '--register', name)} tries again")
        return None
    print(f"registered  models:/{name}/{version}, which is {name}@{CHAMPION} now")
    return f"models:/{name}/{version}"
