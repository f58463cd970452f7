"""`vtr index CHECKPOINT --data URI --out URI`: the vectors of a data set's videos, for `vtr search`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from pipelines.arguments import parse, print_help, wants_help, with_joined_data
from vtr_core.config.data_sets import joined_weights
from vtr_core.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from vtr_core.retrieval.index.index import IndexRecord, VideoIndex
    from vtr_core.storage import Location


@dataclass(frozen=True)
class IndexFlags:
    """Flags of `vtr index`."""

    checkpoint: Annotated[str | None, tyro.conf.Positional] = None
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS (default:
    that of --embeddings)."""
    data: str | None = None
    """Data set: whole videos for dual encoders and MUSE, clips for other models; --data A B indexes several
    (default: that of --embeddings)."""
    out: str | None = None
    """Output folder or URI; an existing index is replaced by a new revision."""
    embeddings: str | None = None
    """The data set's embeddings by vtr embed, which are read instead of computed."""
    backend: Literal["exact", "faiss"] = "exact"
    """faiss: also an approximate nearest-neighbour graph for candidates; needs pip install 'vtr-ray[faiss]'."""
    add: bool = False
    """Add the items to the index at --out instead of replacing it; items with the same ids are replaced."""
    delete: tuple[str, ...] = ()
    """Delete the items, or all clips of the videos, with these ids from the index at --out; nothing is embedded."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr index", IndexFlags)
        return
    index(parse(IndexFlags, with_joined_data(argv), "vtr index"))


def index(flags: IndexFlags) -> "IndexRecord":
    """Embed the videos, or change the index, write it, and print its content."""
    from vtr_core.retrieval.index.index import save_index
    from vtr_core.storage import check_writable, locate

    if flags.out is None:
        raise ConfigError("vtr index: --out is missing: the folder or URI of the index")
    out = locate(flags.out)
    check_writable(out)
    record = save_index(out, _deleted(flags, out) if flags.delete else _built(flags, out))
    _report(record, flags.out)
    return record


def _deleted(flags: IndexFlags, out: "Location") -> "VideoIndex":
    from vtr_core.retrieval.index.change import without
    from vtr_core.retrieval.index.index import load_index

    if flags.add or flags.checkpoint is not None or flags.data is not None or flags.embeddings is not None:
        raise ConfigError("vtr index: --delete takes --out alone, no checkpoint, --data, --embeddings or --add")
    return without(load_index(out), flags.delete)


def _built(flags: IndexFlags, out: "Location") -> "VideoIndex":
    """The index of the data set; with --add that at `out`, extended."""
    from pipelines.evaluation_inputs import device
    from vtr_core.config.data_sets import JOINED
    from vtr_core.retrieval.embed.embeddings import load_embeddings, read_embeddings
    from vtr_core.retrieval.embed.model_fingerprint import model_fingerprint
    from vtr_core.retrieval.index.build import build_index
    from vtr_core.retrieval.index.change import extended
    from vtr_core.retrieval.index.faiss import check_faiss
    from vtr_core.retrieval.index.index import load_index
    from vtr_core.retrieval.spaces import spaces_of
    from vtr_core.run.inputs import usable_data
    from vtr_core.train.checkpoint.load import load_model

    if flags.backend == "faiss":
        check_faiss()
    stored = None if flags.embeddings is None else load_embeddings(flags.embeddings)
    checkpoint = flags.checkpoint or (None if stored is None else stored.checkpoint)
    data = flags.data or (None if stored is None else stored.data)
    if checkpoint is None or data is None:
        raise ConfigError("vtr index: give a checkpoint and --data URI, or --embeddings URI; or --delete IDS")
    if max(joined_weights(data)) > 1:
        raise ConfigError(f"vtr index --data {data}: an index has every video once; leave out the weights")
    existing = load_index(out) if flags.add else None
    loaded = load_model(checkpoint, device())
    spaces_of(loaded, "an index")
    manifest = usable_data(loaded.config.model, data)
    rows = None
    if stored is not None and flags.embeddings is not None:
        stored.check(model_fingerprint(loaded.model), manifest, flags.embeddings)
        rows = read_embeddings(stored, flags.embeddings)
    if existing is None:
        built = build_index(loaded, manifest, flags.backend, rows)
        _check_ids(built, data)
        return built
    both = usable_data(loaded.config.model, f"{existing.record.data}{JOINED}{manifest.uri}")
    return extended(existing, build_index(loaded, manifest, "exact", rows), both)


def _check_ids(built: "VideoIndex", data: str) -> None:
    """DatasetError where joined data sets have an id twice."""
    twice = [name for name, count in Counter(item.item_id for item in built.items).items() if count > 1]
    if twice:
        raise DatasetError(f"{data}: {len(twice)} ids, {twice[0]} first, are in several data sets; index one alone")


def _report(record: "IndexRecord", out: str) -> None:
    from vtr_core.fingerprint import short

    sizes = ", ".join(f"{name} {size}" for name, size in record.sizes.items())
    total = sum(file.bytes for file in record.files.values())
    size = f"{total / 1e6:.1f} MB, {record.backend}, revision {record.revision}"
    print(f"{record.num_items} items ({sizes}), compared by {record.similarity}; {size}")
    print(f"model       {short(record.model_fingerprint)}  {record.checkpoint}")
    print(f"data        {short(record.data_fingerprint)}  {record.data}")
    print(f"index       {out}")
    print(f'next        vtr search "a query" --index {out}')
