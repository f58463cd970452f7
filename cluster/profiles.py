"""Cluster profiles: changes to a run's configuration for a kind of cluster.

A profile sets placement and the number of workers; batch, loss, schedule and model stay the preset's. The number of
workers by itself affects only dropout (each worker draws its own) and the order of summation, in the last bits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from vtr_core.errors import ConfigError, nearest


@dataclass(frozen=True)
class Profile:
    """A kind of cluster."""

    name: str
    description: str
    changes: Mapping[str, Any]
    """Dotted settings of a run: {"scaling.workers": 8, …}."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """The nodes that the settings are made for, by their type in ray-cluster.yaml and kuberay/cluster.yaml."""


_SETTINGS = ("workers", "device", "cpus_per_worker", "reading_cpus", "reading_nodes", "prefetch_batches")


def _scaling(*values: float | str) -> Mapping[str, Any]:
    """The first settings of `scaling` among `_SETTINGS`, with these values."""
    return MappingProxyType({f"scaling.{name}": value for name, value in zip(_SETTINGS, values, strict=False)})


_ALL = (
    Profile(
        "laptop",
        "one machine without a GPU: one worker of two CPUs, one CPU for reading",
        _scaling(1, "cpu", 2.0, 1.0, "any"),
    ),
    Profile(
        "1xh100",
        "one machine with one GPU and 16 CPUs: one worker, 10 CPUs for reading",
        _scaling(1, "gpu", 4.0, 10.0, "any", 4),
    ),
    Profile(
        "8xh100",
        "one machine with eight GPUs and 192 CPUs: eight workers, 96 CPUs for reading",
        _scaling(8, "gpu", 8.0, 96.0, "auto", 4),
        nodes=MappingProxyType({"gpu": 1}),
    ),
    Profile(
        "8x8xh100",
        "eight machines with eight GPUs each: 64 workers, 256 CPUs for reading on nodes without a GPU",
        _scaling(64, "gpu", 8.0, 256.0, "labelled", 4),
        nodes=MappingProxyType({"gpu": 8, "cpu": 4}),
    ),
)
PROFILES: Mapping[str, Profile] = MappingProxyType({each.name: each for each in _ALL})
PROFILE_NAMES = tuple(PROFILES)


def profile(name: str) -> Profile:
    """The profile called `name`; ConfigError lists the known ones."""
    if name not in PROFILES:
        hint = nearest(name, PROFILES, f"profiles: {', '.join(PROFILE_NAMES)}")
        raise ConfigError(f"no profile {name!r}; {hint}")
    return PROFILES[name]


def describe_profiles() -> str:
    """The profiles, one per line."""
    width = max(map(len, PROFILE_NAMES))
    return "\n".join(f"{each.name:<{width}}  {each.description}" for each in PROFILES.values())
