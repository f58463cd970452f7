"""A function mapped over items by tasks of Ray Data: results in order of completion, data errors as InputError."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pipelines.ray_session import connect

if TYPE_CHECKING:
    from vtr_core.train.fleet.placement import Placement

Same = TypeVar("Same")
Item = TypeVar("Item")
Result = TypeVar("Result")


def begin_reading(worker_logs: bool, apart: bool) -> "Placement":
    """Connect to Ray; returns the placement. With `apart` tasks go to the nodes for reading, where there are any."""
    from ray.data import DataContext

    from vtr_core.train.fleet.placement import place_reading, placement

    connect(worker_logs=worker_logs)
    DataContext.get_current().enable_progress_bars = False
    placed = placement("auto")
    if apart:
        place_reading(placed)
    return placed


def on_ray(
    function: Callable[[Same, Item], Result], same: Same, items: Sequence[Item], gpus: float = 0.0
) -> Iterator[Result]:
    """The results of `function(same, item)`, one task per item, in arbitrary order; `same` is sent once.

    Errors in the data are raised as InputError.
    """
    import ray
    from ray import cloudpickle

    from vtr_core.errors import InputError, VtrError

    shared = ray.put(same)

    def work(row: dict[str, bytes]) -> dict[str, Any]:
        try:
            result = function(ray.get(shared), cloudpickle.loads(row["item"]))
        except VtrError as error:
            return {"result": b"", "error": str(error)}
        return {"result": cloudpickle.dumps(result), "error": ""}

    rows = ray.data.from_items([{"item": cloudpickle.dumps(item)} for item in items], override_num_blocks=len(items))
    for row in rows.map(work, num_gpus=gpus or None).iter_rows():
        if row["error"]:
            raise InputError(row["error"])
        yield cloudpickle.loads(row["result"])
