"""Trials under Ray Tune, several at once: a sweep's, or the rows of a table."""

import os
import signal
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ray import tune
from ray.tune import Callback, Trainable
from ray.tune.schedulers import TrialScheduler
from ray.tune.search import Searcher

from vtr_core import ray_private, storage
from vtr_core.storage import Location

_SETTINGS = {
    "RAY_AIR_NEW_OUTPUT": "0",  # no tables of Tune's beside our lines
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",  # a failed trial reports its reason without an objective
    "TUNE_GLOBAL_CHECKPOINT_S": "86400",
    ray_private.SYNC_WARNING: "0",
}


def fit_trials(
    trainable: type[Trainable],
    config: Mapping[str, Any],
    at_once: int,
    scratch: Location,
    callback: Callback,
    scheduler: TrialScheduler | None = None,
    search: Searcher | None = None,
    samples: int = 1,
) -> list[int]:
    """Run trials to their ends, `at_once` at a time, and return the signals that ended them early.

    config: of every trial; without a `search` the one with the grid `trial`, whose points have a `number`. samples: the
    trials that `search` may propose. scratch: a folder for what Tune writes, deleted at the end.
    """
    os.environ.update({name: value for name, value in _SETTINGS.items() if name not in os.environ})
    tuner = tune.Tuner(
        trainable,
        param_space=dict(config),
        tune_config=tune.TuneConfig(
            scheduler=scheduler,
            search_alg=search,
            num_samples=samples if search is not None else 1,
            max_concurrent_trials=at_once,
            trial_name_creator=_name,
            trial_dirname_creator=_name,
            reuse_actors=False,
        ),
        run_config=tune.RunConfig(
            name=uuid.uuid4().hex,
            storage_path=scratch.uri if scratch.is_local else scratch.path,
            storage_filesystem=None if scratch.is_local else scratch.filesystem,
            failure_config=tune.FailureConfig(max_failures=0),
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),  # a trial writes its own checkpoints
            callbacks=[callback],
            verbose=0,
        ),
    )
    ray_private.only_errors(ray_private.TALKATIVE_IN_SWEEPS)
    with _terminable() as received:
        tuner.fit()
    storage.delete_folder(scratch)
    return received


def _name(trial: Any) -> str:
    return f"trial-{trial.config['trial']['number']:03d}"


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """Context in which SIGTERM acts on Tune like SIGINT: trials end and Tune returns. Yields the received signals.

    Tune handles SIGINT itself and does not report it to the caller.
    """
    received: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        received.append(number)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)
