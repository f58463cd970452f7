"""Unreadable row groups whose rows were replaced: each is reported once, its rows are counted."""

from vtr_core.data.plan.plan import Plan
from vtr_core.data.reading.row_groups import Columns, RowGroupReader
from vtr_core.data.shards.shard_file import DamagedShard
from vtr_core.train.loop.context import DriverChannel


class BadShards:
    """The unreadable row groups that one worker has met."""

    def __init__(self, reader: RowGroupReader, plan: Plan, channel: DriverChannel) -> None:
        self._reader, self._plan, self._channel = reader, plan, channel
        self._named: set[int] = set()

    def look(self, columns: Columns) -> int:
        """The number of replaced rows in this worker's part of a batch; reports new bad row groups to the driver."""
        for group in columns["replaced"][:, 0].tolist():
            if group not in self._named:
                self._named.add(group)
                self._tell(group)
        return int(columns["replaced"][:, 1].sum())

    def _tell(self, group: int) -> None:
        place = self._plan.row_groups[group]
        shard = self._reader.manifest.shards[place.shard]
        try:
            self._reader.read_in_place(place)
            reason = "it could be read at the next try"
        except DamagedShard as error:
            reason = str(error)
        event = {"event": "bad_shard", "file": shard.file, "row_group": place.index, "sha256": shard.sha256}
        self._channel.report({**event, "reason": reason})
