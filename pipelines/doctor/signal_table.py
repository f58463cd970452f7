"""`vtr doctor --model`: signal propagation through a newly initialised model."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import ConfigError, InputError

if TYPE_CHECKING:
    from vtr_core.run.config import TrainConfig
    from vtr_core.run.signal import Signal


@dataclass(frozen=True)
class Look:
    """Signal propagation through a model for one kind of input."""

    what: str
    signal: "Signal"

    def as_json(self) -> dict[str, Any]:
        """The signal as JSON."""
        return {"what": self.what, **asdict(self.signal), "faults": self.signal.faults()}


def configuration(name: str, settings: Sequence[str]) -> "TrainConfig":
    """The configuration of a preset or of a run's config.json, with `a.b=value` settings applied."""
    from vtr_core.config.override import override
    from vtr_core.run.presets import preset

    config = SYSTEMS.config(_read(name), name) if name.endswith(".json") else preset(name)
    return override(config, dict(map(_setting, settings)))


def _read(file: str) -> Any:
    from vtr_core import storage
    from vtr_core.storage import locate

    try:
        return storage.read_json(locate(file))
    except FileNotFoundError as error:
        raise InputError(f"{file} does not exist; give a preset, or the config.json of a run") from error


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"vtr doctor: --set {text!r} is no NAME=VALUE, such as model.standardize=false")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def looks(config: "TrainConfig", data: str | None, rows: int | None = None, seed: int = 0) -> Iterator[Look]:
    """The signal propagation of the first batch of a data set, or of random rows with features of each size.

    rows: of the batch (default: 64; of random rows fewer where their inputs are large); ConfigError below 8.
    """
    from vtr_core.run.made_batch import KINDS, LEAST_ROWS, MOST_ROWS, made_signal, usual_rows

    if rows is not None and rows < LEAST_ROWS:
        raise ConfigError(f"vtr doctor: --rows {rows} is too few to differ from each other; give {LEAST_ROWS} or more")
    if data is not None:
        rows = rows or MOST_ROWS
        yield Look(f"{rows} rows of {data}", _on_data(config, data, rows, seed))
        return
    rows = rows or usual_rows(config)
    if config.model.system().records(config.model) == "images":
        rows = rows // 4 * 4  # four of each subject
        yield Look(f"{rows} invented images", made_signal(config, "standardized", rows, seed))
        return
    for kind, what in KINDS.items():
        yield Look(f"{rows} invented rows, features {what}", made_signal(config, kind, rows, seed))


def _on_data(config: "TrainConfig", data: str, rows: int, seed: int) -> "Signal":
    import torch

    from vtr_core.config.override import override
    from vtr_core.data.manifest import data_set
    from vtr_core.run.inputs import usable_data, with_inputs
    from vtr_core.run.signal import measure
    from vtr_core.train.first_batch import first_batch
    from vtr_core.train.training_labels import concept_table, usable_concepts

    manifest = usable_data(config.model, data_set(data, "train"))
    each = config.batch.clips_per_video if config.model.system().records(config.model) == "images" else 1
    videos = min(rows // each, manifest.videos)
    config = override(config, {"batch.videos": videos, "batch.clips_per_video": each, "scaling.workers": 1})
    config = with_inputs(config, manifest)
    labels = concept_table(config, usable_concepts(config, manifest, data, None))
    torch.manual_seed(seed)
    found = first_batch(config, manifest, labels)
    return measure(found.model, found.task(config), found.columns)


def as_table(look: Look) -> str:
    """The signal of one batch as a table, with the values out of bounds."""
    signal = look.signal
    lines = [look.what, f"  {'share between rows':24s}{_row(signal.shares)}"]
    lines.append(f"  {'similarities deviate by':24s}{_row(signal.deviations)}")
    gradients = sorted(signal.gradients.items(), key=lambda item: item[1])
    ends = dict([gradients[0], gradients[-1]]) if gradients else {}
    lines.append(f"  {'gradients, median 1':24s}{_row(ends)}")
    lines += [f"! {fault}" for fault in signal.faults()]
    died = signal.dies_at
    if died is not None and any(value < 0.3 for value in signal.shares.values()):
        lines.append(f"! the signal dies in {died.name}: share {died.given:.3f} before it, {died.gives:.3f} after it")
    return "\n".join(lines)


def _row(values: "Any") -> str:
    return "  ".join(f"{name} {value:.3g}" for name, value in values.items()) or "–"
