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
    nodes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """The nodes that the settings are made for, by their type in ray-cluster.yaml and kuberay/cluster.yaml."""
    driver_cpus: float = 0.0
    """CPUs reserved for the driver of a submitted job; 0: it runs on the head node without a reservation."""


LAPTOP = Profile(
    name="laptop",
    description="one machine without a GPU: one worker of two CPUs, one CPU for reading",
    changes=MappingProxyType(
        {
            "scaling.workers": 1,
            "scaling.device": "cpu",
            "scaling.cpus_per_worker": 2.0,
            "scaling.reading_cpus": 1.0,
            "scaling.reading_nodes": "any",
        }
    ),
)

ONE_H100 = Profile(
    name="1xh100",
    description="one machine with one GPU and 16 CPUs: one worker, 10 CPUs for reading",
    changes=MappingProxyType(
        {
            "scaling.workers": 1,
            "scaling.device": "gpu",
            "scaling.cpus_per_worker": 4.0,
            "scaling.reading_cpus": 10.0,
            "scaling.reading_nodes": "any",
            "scaling.prefetch_batches": 4,
        }
    ),
)

EIGHT_H100 = Profile(
    name="8xh100",
    description="one machine with eight GPUs and 192 CPUs: eight workers, 96 CPUs for reading",
    changes=MappingProxyType(
        {
            "scaling.workers": 8,
            "scaling.device": "gpu",
            "scaling.cpus_per_worker": 8.0,
            "scaling.reading_cpus": 96.0,
            "scaling.reading_nodes": "auto",
            "scaling.prefetch_batches": 4,
        }
    ),
    nodes=MappingProxyType({"gpu": 1}),
)

EIGHT_TIMES_EIGHT_H100 = Profile(
    name="8x8xh100",
    description="eight machines with eight GPUs each: 64 workers, 256 CPUs for reading on nodes without a GPU",
    changes=MappingProxyType(
        {
            "scaling.workers": 64,
            "scaling.device": "gpu",
            "scaling.cpus_per_worker": 8.0,
            "scaling.reading_cpus": 256.0,
            "scaling.reading_nodes": "labelled",
            "scaling.prefetch_batches": 4,
        }
    ),
    nodes=MappingProxyType({"gpu": 8, "cpu": 4}),
)

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {each.name: each for each in (LAPTOP, ONE_H100, EIGHT_H100, EIGHT_TIMES_EIGHT_H100)}
)
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
