"""A run as TensorBoard's event files, in the folder `tensorboard` of the run folder."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from vtr_core import storage
from vtr_core.tracking.also.run_page import RunPage
from vtr_core.tracking.run import Point, Status

FOLDER = "tensorboard"


class EventFiles:
    """Event files of a run. They have the same points as metrics.jsonl: a resumed run writes them anew.

    On an object store they lag one upload behind until the run ends.
    """

    def __init__(self, page: RunPage) -> None:
        from tensorboardX import SummaryWriter

        self._place = page.folder / FOLDER
        storage.delete_folder(self._place)
        self._local = Path(self._place.path if self._place.is_local else tempfile.mkdtemp())
        self._writer = SummaryWriter(str(self._local))
        settings = json.dumps(dict(page.settings), indent=1, default=str)
        self._writer.add_text("run", f"{page.note}\n\n```json\n{settings}\n```", 0)

    def steps(self, name: str) -> set[int]:  # noqa: ARG002
        """An empty set: a resumed run writes its files anew."""
        return set()

    def log_points(self, points: Sequence[Point]) -> None:
        """Write points, each at its own time."""
        self._publish()  # first, so that points which the store refuses are not written twice
        for point in points:
            self._writer.add_scalar(point.name, point.value, point.step, walltime=point.time_ms / 1000)
        self._writer.flush()

    def finish(self, status: Status) -> None:
        """Close the files, with the run's status as the text `status`."""
        self._writer.add_text("status", status, 0)
        self._writer.close()
        self._publish()

    def _publish(self) -> None:
        if not self._place.is_local:
            for file in self._local.iterdir():
                storage.write_bytes(self._place / file.name, file.read_bytes())
