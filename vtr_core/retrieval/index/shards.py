"""Shards made of tensors and items, of parts of other shards, and of two shards together."""

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float32

from vtr_core.retrieval.index.candidates import build_candidates
from vtr_core.retrieval.index.index import Shard, modalities, sizes
from vtr_core.retrieval.index.items import Items
from vtr_core.retrieval.index.record import Backend


def new_shard(tensors: dict[str, np.ndarray], items: Items, backend: Backend) -> Shard:
    """A shard with the candidates of `backend`."""
    return Shard.of(tensors, items, None if backend == "exact" else build_candidates(searched(tensors), backend))


def selected(shard: Shard, kept: Bool[np.ndarray, " items"], backend: Backend) -> Shard | None:
    """The items of a mask; the shard itself where these are all, None for none."""
    if kept.all():
        return shard
    if not kept.any():
        return None
    tensors = {name: tensor[kept] for name, tensor in shard.tensors.items()}
    return new_shard(tensors, Items(shard.items.table.filter(pa.array(kept))), backend)


def merged(first: Shard, second: Shard, backend: Backend) -> Shard:
    """The items of both; a modality that one of them lacks is absent from its items."""
    names = {**sizes(first.tensors), **sizes(second.tensors)}
    parts = _with_all(first, names), _with_all(second, names)
    tables = [first.items.table, second.items.table]
    items = Items(pa.concat_tables(tables, promote_options="default"))
    return new_shard({name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, items, backend)


def searched(tensors: dict[str, np.ndarray]) -> Float32[np.ndarray, "items dim"]:
    """The vectors among which candidates are found: latent vectors, or the sums of an item's modalities."""
    if "latent" in tensors:
        return tensors["latent"]
    first, *others = (tensors[name] for name in modalities(tensors))
    return np.asarray(sum(others, start=first), np.float32)


def _with_all(shard: Shard, names: dict[str, int]) -> dict[str, np.ndarray]:
    """The tensors, with absent modalities for those of `names` that the shard lacks."""
    rows = len(shard.items)
    absent = {name: np.zeros((rows, dim), np.float32) for name, dim in names.items() if name not in shard.tensors}
    presence = {f"has_{name}": np.zeros(rows, np.bool_) for name in absent}
    found = {**shard.tensors, **absent, **presence}
    return {name: found[name] for name in sorted(found)}
