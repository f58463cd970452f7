"""The share of a batch's loss that one worker computes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """Worker `rank` of `world` computes the terms of its rows; the shares of all workers add up to the whole loss."""

    rank: int = 0
    world: int = 1

    def rows(self, total: int) -> range:
        """The rows of `total` whose terms this share holds; shares differ by a row where `world` does not divide it."""
        return range(self.rank * total // self.world, (self.rank + 1) * total // self.world)


WHOLE = Share()
