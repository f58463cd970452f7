"""The training loop, the same for workers of Ray Train and for a run in this process, and its start."""

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import torch
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.row_groups import Columns
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.stream.assemble import read_directly
from vtr_core.embedding.collectives import agree_all, gather_objects, sum_all
from vtr_core.errors import ClusterError, TrainingError
from vtr_core.run.build import build_task
from vtr_core.run.inputs import concept_table, loss_tables, model_vocabulary, names_of, require_names, training_reader
from vtr_core.systems.implementation import StepOutput
from vtr_core.tracking.environment import system_metrics
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress
from vtr_core.train.checkpoint.run_folder import RunFolder
from vtr_core.train.job import Job, Reason, Report, WorkerContext, checkpoint_provenance, graceful, total_steps
from vtr_core.train.loop.alarms import BadShards, CollapseWatch, keys_not_finite, suspects
from vtr_core.train.loop.learner import Learner, given_weights, initial_model, uses_bf16
from vtr_core.train.loop.recorder import Meter, Recorder, judge, ties_told_once
from vtr_core.train.optimizer import learning_rate_at

_PATIENCE = 50
"""Steps after the warm-up within which a loss should have left chance level."""


class Worker:
    """One worker's model, data and place in the run."""

    def __init__(self, job: Job, context: WorkerContext) -> None:
        self._context, self._channel, self._stop = context, context.channel, context.channel.watch()
        self._rank, self._world, self._device = context.rank, context.world, context.device
        self._job, self._config = job, job.config
        self._folder = RunFolder.at(job.run)
        self._manifest = Manifest.load(job.data)
        self._words = WordTable.load(self._manifest)
        self._vocabulary = model_vocabulary(self._config.model, self._words.vocabulary)
        self._plan = Plan(self._manifest, self._config.batch, self._config.seed)
        self._total = total_steps(self._config, self._plan)
        self._watch = CollapseWatch(math.ceil(self._config.optimizer.warmup(self._total)) + _PATIENCE)
        table = concept_table(self._config, job.concepts)
        self._concepts = names_of(self._config, table)
        torch.manual_seed(self._config.seed)  # the loss's parameters begin equal on all workers
        tables = loss_tables(self._config, self._manifest, table)
        self._task = build_task(self._config, self._rank, self._world, tables)
        self._build()

    def _build(self) -> None:
        """Initial weights from the seed or another model; then the newest checkpoint's, where there is one."""
        checkpoint = self._folder.latest(self._job.systems)
        model = initial_model(self._config, self._manifest, self._words.vectors, standardize=checkpoint is None)
        self._fitting = None
        if checkpoint is None:
            self._fitting = given_weights(
                model, self._config, self._vocabulary, self._concepts, self._job.init, self._job.systems
            )
        self._learner = Learner(model, self._task.objective, self._config, self._context.distribute)
        self._progress = checkpoint.progress if checkpoint else Progress()
        if checkpoint is not None:
            require_names(checkpoint.concepts, self._concepts, self._folder.checkpoint_at(checkpoint.progress.step))
            self._learner.restore(checkpoint, self._folder)

    def run(self) -> bool:
        """Train from the current step to the end, to an early stop or a request to stop.

        Returns whether this group is done; if anything is left, the driver begins the next group.
        """
        self._recorder = self._begin_recording()
        sent = False
        try:
            tracked = self._job.tracked if self._rank == 0 else None
            with system_metrics(tracked), ties_told_once(self._rank == 0):
                self._loop()
        finally:
            if self._recorder is not None:
                sent = self._recorder.close()
        if self._recorder is not None and self._is_finished():
            watch = self._watch
            beside = {"at_chance": watch.at_chance, "loss": watch.loss}
            self._recorder.event("finished", step=self._progress.step, metrics_sent=sent, **beside)
        return self._is_finished()

    def _begin_recording(self) -> Recorder | None:
        if self._rank != 0:
            return None
        job, step = self._job, self._progress.step
        recorder = Recorder(self._folder, job.lease, job.tracked, self._channel, step, self._context.clock)
        recorder.begin(step, self._world)
        if self._fitting is not None:
            recorder.event("initialised", model=job.init, tensors=self._fitting.summary)
        dtype = torch.bfloat16 if uses_bf16(self._config, self._device) else torch.float32
        choices = job.config.model.system().implementation().events(self._learner.bare, self._device, dtype)
        for name, values in choices.items():  # those of the model on this device, such as a backend
            recorder.event(name, **values)
        return recorder

    def _loop(self) -> None:
        meter = Meter(self._config.batch.rows)
        not_finite = 0
        batches, bad_shards = self._batches()
        while not self._should_stop():
            with meter.waiting():
                columns = next(batches)
            if bad_shards is not None:
                replaced = self._progress.replaced_rows + sum_all(bad_shards.look(columns), self._device)
                self._progress = replace(self._progress, replaced_rows=replaced)
            metrics = self._step(columns)
            meter.step()
            not_finite = not_finite + 1 if metrics is None else 0
            self._progress = replace(self._progress, step=self._progress.step + 1, value=None)
            if metrics is None:
                self._skip(columns, not_finite)
            elif self._is_due(self._config.training.log_every):
                self._report({**_numbers(metrics), **meter.read(), **self._counts()})
            self._validate_and_save()
        if self._recorder is not None:
            self._recorder.save_last(self._progress.step, self._checkpoint)
            if not self._is_finished():
                self._recorder.event(self._stop.reason(), step=self._progress.step)

    def _batches(self) -> tuple[Iterator[Columns], BadShards | None]:
        reader = training_reader(self._config.model, self._manifest, self._plan.extra_captions)
        part = Part(self._rank, self._world)
        prefetch, bad = self._config.scaling.prefetch_batches, self._config.on_bad_shard
        batches = self._context.stream(reader, self._plan, part, self._progress.step, prefetch, bad)
        return batches, BadShards(reader, self._plan, self._channel) if bad == "skip" else None

    def _step(self, columns: Columns) -> dict[str, float | Tensor] | None:
        """One optimiser step; None, and nothing done, where the loss or its gradient is not finite.

        Random draws are a function of (seed, step, rank), so a resumed run draws the same. Values stay on the device:
        reading one waits for the step, which is done only for those that are logged.
        """
        step = self._progress.step
        assert int(columns["step"][0]) == step
        torch.manual_seed(step_seed(self._config.seed, step, self._rank))
        plateaus, epoch = self._progress.plateaus, self._plan.steps_per_epoch
        rate = learning_rate_at(self._config.optimizer, step, self._total, epoch, plateaus)
        self._learner.set_learning_rate(rate)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=uses_bf16(self._config, self._device)):
            output = self._task.step(self._learner.model, columns, step, self._device)
        norm = self._learner.update(output.loss)
        if norm is None:
            return None
        values = {"train/loss": output.loss, "train/gradient_norm": norm, **output.metrics}
        return {**values, **self._watched(output), "train/learning_rate": rate}

    def _watched(self, output: StepOutput) -> dict[str, float]:
        """Collapse metrics at the steps that are logged; a warning event where embeddings have collapsed."""
        step = self._progress.step + 1
        if self._recorder is None or not self._is_due(self._config.training.log_every, step):
            return {}
        loss, was_at_chance = float(output.loss.detach()), self._watch.at_chance
        values = self._watch.look(step, loss, output.compared)
        if self._watch.collapse is not None:
            self._recorder.event("collapsed", step=step, **asdict(self._watch.collapse))
        if self._watch.at_chance is not None and was_at_chance is None:
            self._recorder.event("at_chance", step=step, loss=loss, chance=self._watch.at_chance)
        return values

    def _skip(self, columns: Columns, in_row: int) -> None:
        """Count a skipped step, report what its batch held, stop after too many in a row; equal on all workers."""
        self._progress = replace(self._progress, skipped=self._progress.skipped + 1)
        step = self._progress.step
        keys = gather_objects(keys_not_finite(columns, self._manifest.schema.features))
        suspected = suspects(self._manifest, self._plan.places(step - 1), set().union(*keys))
        if self._recorder is not None:
            self._recorder.event("not_finite", step=step, places=list(suspected.places), clips=list(suspected.clips))
        self._report(self._counts())
        if in_row >= self._config.training.max_nonfinite:
            raise TrainingError(
                f"the loss or its gradient was not finite in {in_row} steps in a row (training.max_nonfinite), the "
                f"last one with {suspected}; look at that data, lower optimizer.learning_rate or set "
                "optimizer.gradient_clip"
            )

    def _counts(self) -> dict[str, float]:
        epoch = self._progress.step / self._plan.steps_per_epoch
        return {
            "train/epoch": epoch,
            "train/skipped_steps": float(self._progress.skipped),
            "train/replaced_rows": float(self._progress.replaced_rows),
        }

    def _is_due(self, every: int | None, step: int | None = None) -> bool:
        """Whether something is due after `step` steps (by default, the steps done so far)."""
        step = self._progress.step if step is None else step
        return every is not None and (step % every == 0 or step == self._total)

    def _validate_and_save(self) -> None:
        """Validate at the end of every `validate_every` epochs and save; also save every so many steps or minutes."""
        validated = self._is_due(self._config.training.validate_every * self._plan.steps_per_epoch)
        if validated and self._job.validation is not None:
            manifest = Manifest.load(self._job.validation)
            values = self._learner.judged(lambda model: self._task.evaluate(model, manifest, self._vocabulary))
            metric, optimizer = self._config.training.metric, self._config.optimizer
            self._progress = judge(self._progress, values, metric, optimizer.plateau_patience, optimizer.plateau)
            self._report(values)
        due = validated or self._is_due(self._config.training.checkpoint_every)
        if self._recorder is not None and (due or self._recorder.is_late(self._config.training.checkpoint_minutes)):
            self._recorder.save(self._checkpoint())

    def _is_finished(self) -> bool:
        patience = self._config.training.patience
        stale = patience is not None and self._progress.flat_validations >= patience
        return stale or self._progress.step >= self._total

    def _should_stop(self) -> bool:
        """Whether the run is finished, or a stop was requested, as all workers agree."""
        return self._is_finished() or not agree_all(not self._stop.requested(), self._device)

    def _report(self, values: dict[str, float]) -> None:
        if self._recorder is not None:
            self._recorder.point(values, self._progress.step, self._total)

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            config=self._config,
            progress=self._progress,
            vocabulary=self._vocabulary,
            provenance=checkpoint_provenance(self._job, self._manifest),
            concepts=self._concepts,
            **self._learner.state(),
        )


def step_seed(seed: int, step: int, rank: int) -> int:
    """A 64-bit seed for one worker's randomness in one step."""
    return int(np.random.SeedSequence([seed, step, rank]).generate_state(1, np.uint64)[0])


def _numbers(values: Mapping[str, float | Tensor]) -> dict[str, float]:
    return {name: float(value.detach() if isinstance(value, Tensor) else value) for name, value in values.items()}


def fit_in_process(job: Job, on_report: Callable[[Report], None], should_stop: Callable[[], bool]) -> None:
    """`vtr_core.train.loop.worker.fit` in this process: batches, losses and weights are those of one worker.

    A fault ends the run; --resume continues it. `should_stop` is called at every step.
    """
    device = device_here(job.config)
    channel = _Channel(on_report, should_stop)

    def place(model: nn.Module) -> nn.Module:
        return model.to(device)

    context = WorkerContext(0, 1, device, channel, read_directly, place)
    with graceful(channel.stopping.set):
        Worker(job, context).run()


def device_here(config: TrainConfig) -> torch.device:
    """The device of the configuration on this machine; ClusterError where a GPU is requested and not available."""
    has_gpu = torch.cuda.is_available()
    if config.scaling.device == "gpu" and not has_gpu:
        raise ClusterError("scaling.device = 'gpu', and torch finds no CUDA device here; use --scaling.device cpu")
    return torch.device("cuda" if has_gpu and config.scaling.device != "cpu" else "cpu")


@dataclass(frozen=True)
class _Channel:
    """A channel within one process: reports are passed to the driver's callback at once."""

    report: Callable[[Report], None]
    should_stop: Callable[[], bool]
    stopping: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> "_Channel":
        return self

    def requested(self) -> bool:
        return self.stopping.is_set() or self.should_stop()

    def reason(self) -> Reason:
        return "interrupted"


def fit(job: Job, on_report: Callable[[Report], None], should_stop: Callable[[], bool] = lambda: False) -> None:
    """Run `job` to its end: on `scaling.workers` of the connected Ray cluster; with 0 in this process.

    `on_report` gets every logged point and event, in the driver. A VtrError in a worker, which is due to the user's
    input, ends the run at once. Ctrl-C or SIGTERM ends it after a checkpoint, with Interrupted. So does `should_stop`,
    but without an error.
    """
    if job.config.scaling.workers == 0:
        fit_in_process(job, on_report, should_stop)
    else:
        from vtr_core.train.trainer import fit_on_cluster

        fit_on_cluster(job, on_report, should_stop)
