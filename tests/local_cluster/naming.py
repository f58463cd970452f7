"""What a local cluster calls the things it makes, all of which carry its own suffix and can be removed by it."""

import re
import secrets
from dataclasses import dataclass
from pathlib import Path

PREFIX = "vtr-"
ROOT = Path("/tmp")
"""Sockets lie below this; their paths may have 107 characters, so it is short."""
RECORD = "cluster.json"
"""The file in a cluster's folder that says which process started it."""


@dataclass(frozen=True)
class Names:
    """The names of the cluster with this suffix (8 hexadecimal digits)."""

    suffix: str

    @classmethod
    def fresh(cls) -> "Names":
        """Names that nobody has yet."""
        return cls(secrets.token_hex(4))

    @property
    def cluster(self) -> str:
        """The cluster's own name."""
        return f"{PREFIX}{self.suffix}"

    @property
    def folder(self) -> Path:
        """Where the cluster keeps all its files."""
        return ROOT / self.cluster

    @property
    def bridge(self) -> str:
        """The bridge that joins the nodes; an interface's name has at most 15 characters."""
        return f"vtr{self.suffix}"

    def node(self, index: int) -> str:
        """The node's name in Ray, and that of its network namespace."""
        return f"{self.cluster}-{index}"

    def node_folder(self, index: int) -> Path:
        """Where a node keeps its files."""
        return self.folder / str(index)

    def host_interface(self, index: int) -> str:
        """The end of the node's cable that is plugged into the bridge."""
        return f"v{self.suffix}-{index}"


def existing() -> list[Names]:
    """The clusters whose folders are there, running or left over."""
    found = [re.fullmatch(f"{PREFIX}([0-9a-f]{{8}})", place.parent.name) for place in ROOT.glob(f"{PREFIX}*/{RECORD}")]
    return sorted((Names(name[1]) for name in found if name), key=lambda names: names.suffix)
