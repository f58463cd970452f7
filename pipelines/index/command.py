"""`vtr index VIDEOS --out URI`, and `vtr index CHECKPOINT --data URI --out URI`: what `vtr search` searches."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from pipelines.arguments import check_counts, json_alone, parse, print_help, print_json, wants_help, with_joined_data
from pipelines.systems.registry import SYSTEMS
from vtr_core.config.data_sets import joined_weights
from vtr_core.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from vtr_core.retrieval.index.index import Shard
    from vtr_core.retrieval.index.record import Backend, IndexRecord
    from vtr_core.storage import Location


@dataclass(frozen=True)
class IndexFlags:
    """Flags of `vtr index`."""

    checkpoint: Annotated[str | None, tyro.conf.Positional] = None
    """VIDEOS: a folder or URI of video files, quoted glob, list of paths (.txt), or table with a column video; no
    captions are needed. With --data or --embeddings instead a checkpoint folder, run folder (its best checkpoint is
    used), or registered model, models:/NAME@ALIAS (default: that of --embeddings, or --encoder)."""
    data: str | None = None
    """Data set: whole videos for dual encoders and MUSE, clips for other models; --data A B indexes several
    (default: that of --embeddings)."""
    out: str | None = None
    """Output folder or URI; an existing index is replaced by a new revision. VIDEOS: files that it has already, of the
    same size and time of change, are not encoded again, and those that are gone are dropped."""
    embeddings: str | None = None
    """The data set's embeddings by vtr embed, which are read instead of computed."""
    backend: Literal["exact", "hnsw", "ivf-pq", "faiss"] = "exact"
    """hnsw, ivf-pq: also find candidates by approximate search, which are compared exactly. Both need pip install
    'vtr-ray[faiss]'. faiss: the deprecated name of hnsw."""
    shards: int | None = None
    """Parts of the index, with files of their own; models with one joint space (default: one of each million rows)."""
    add: bool = False
    """Add the items to the index at --out instead of replacing it; items with the same ids are replaced. VIDEOS: also
    keep the files that are not among these."""
    delete: tuple[str, ...] = ()
    """Delete the items, or all clips of the videos, with these ids from the index at --out; nothing is embedded."""
    encoder: str | None = None
    """Pretrained encoder of text and frames, see vtr encoders, or the run folder of an adapter or another model trained
    on features of vtr extract (default: bundled, or the encoder that the index at --out has)."""
    window: float | None = None
    """VIDEOS: length of a hit in seconds; each video is cut into equal parts near it (default: 5, or as the index has
    it)."""
    workers: int | None = None
    """VIDEOS: 0 encodes in this process, without Ray; another number, or more than 1000 new files, is a Ray Data job on
    the whole cluster."""
    anywhere: bool = False
    """VIDEOS: allow absolute paths and URIs in tables and lists."""
    thumbnails: bool = True
    """VIDEOS: keep a small picture of each hit for pages; --no-thumbnails: keep none."""
    weights: dict[str, str] = field(default_factory=dict)
    """VIDEOS: weight files by recipe, for a model that was trained on features of such a recipe."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr index", IndexFlags)
        return
    flags = parse(IndexFlags, with_joined_data(argv), "vtr index")
    with json_alone(flags.json):
        record = index(flags)
    if flags.json:
        print_json({"uri": flags.out, **record.to_json()})


def index(flags: IndexFlags) -> "IndexRecord":
    """Embed the videos, or change the index, write it, and print its content."""
    from vtr_core.storage import check_writable, locate

    if flags.out is None:
        raise ConfigError("vtr index: --out is missing: the folder or URI of the index")
    if flags.shards is not None:
        check_counts("vtr index", shards=flags.shards)
    out = locate(flags.out)
    check_writable(out)
    record = _deleted(flags, out) if flags.delete else _made(flags, out)
    _report(record, flags.out)
    return record


def _deleted(flags: IndexFlags, out: "Location") -> "IndexRecord":
    from vtr_core.retrieval.index.build import without
    from vtr_core.retrieval.index.index import load_index, save_index
    from vtr_core.retrieval.index.windows import WindowStore

    if flags.add or any(one is not None for one in (flags.checkpoint, flags.data, flags.embeddings, flags.encoder)):
        raise ConfigError(
            "vtr index: --delete takes --out alone, no videos, checkpoint, --data, --embeddings, --encoder or --add"
        )
    record = save_index(out, without(load_index(out), flags.delete))
    store = WindowStore.beside(out)
    if store:
        store.drop(flags.delete)
    return record


def _made(flags: IndexFlags, out: "Location") -> "IndexRecord":
    """The index of video files, or of a data set by a checkpoint: what is given decides."""
    if flags.data is None and flags.embeddings is None and flags.checkpoint is not None:
        from pipelines.index.videos import index_videos

        if flags.shards is not None:
            raise ConfigError("vtr index: --shards is for a data set; an index of videos has one of each million hits")
        return index_videos(flags, out, _backend(flags))
    of_videos = {
        "--window": flags.window is not None,
        "--workers": flags.workers is not None,
        "--anywhere": flags.anywhere,
        "--no-thumbnails": not flags.thumbnails,
        "--weights": bool(flags.weights),
    }
    given = [name for name, is_given in of_videos.items() if is_given]
    if given:
        raise ConfigError(f"vtr index: {' and '.join(given)} belong to videos; leave out --data and --embeddings")
    return _built(flags, out)


def _built(flags: IndexFlags, out: "Location") -> "IndexRecord":
    """Write the index of the data set; with --add that at `out`, extended."""
    from pipelines.evaluation_inputs import RowsRead, device
    from pipelines.index.videos import model_uri
    from vtr_core.config.data_sets import JOINED
    from vtr_core.embedding.embedded_rows import model_fingerprint
    from vtr_core.retrieval.embed.stored_embeddings import load_embeddings
    from vtr_core.retrieval.index.build import StoredEmbeddings, extended, plan_index
    from vtr_core.retrieval.index.candidates import check_faiss
    from vtr_core.retrieval.index.index import load_index, save_index, save_shards
    from vtr_core.retrieval.index.windows import WindowStore
    from vtr_core.run.inputs import usable_data
    from vtr_core.storage import delete_folder
    from vtr_core.systems.spaces import spaces_of
    from vtr_core.train.checkpoint.trained_model import read_model

    existing = load_index(out) if flags.add else None
    windows = WindowStore.beside(out)
    if existing is not None and windows:
        raise ConfigError(f"vtr index: {flags.out} is an index of video files; --add takes videos, without --data")
    backend = _backend(flags) if existing is None else existing.record.backend
    if backend != "exact":
        check_faiss()
    found = None if flags.embeddings is None else load_embeddings(flags.embeddings)
    if flags.checkpoint is not None and flags.encoder is not None:
        raise ConfigError(f"vtr index: give {flags.checkpoint} or --encoder {flags.encoder} for the data set, not both")
    asked = flags.checkpoint if flags.encoder is None else model_uri(flags.encoder)
    checkpoint = asked or (None if found is None else found.checkpoint)
    data = flags.data or (None if found is None else found.data)
    if checkpoint is None or data is None:
        raise ConfigError(
            "vtr index: give a checkpoint and --data URI, or --embeddings URI; or videos (a folder, glob, list or "
            "table); or --delete IDS"
        )
    if max(joined_weights(data)) > 1:
        raise ConfigError(f"vtr index --data {data}: an index has every video once; leave out the weights")
    loaded = read_model(checkpoint, SYSTEMS, device())
    spaces_of(loaded, "an index")
    manifest = usable_data(loaded.config.model, data)
    stored = None
    if found is not None and flags.embeddings is not None:
        found.check(model_fingerprint(loaded.model), manifest, flags.embeddings)
        stored = StoredEmbeddings(found, flags.embeddings)
    with RowsRead(manifest) as read:
        planned = plan_index(loaded, manifest, backend, stored, flags.shards, read.watch)
        shards = _once(planned.shards, data) if JOINED in data else planned.shards
        if existing is None:
            record = save_shards(out, planned.record, shards, planned.concepts)
            delete_folder(windows.location)  # of an index of video files that this one replaces
            return record
        both = usable_data(loaded.config.model, f"{existing.record.data}{JOINED}{manifest.uri}")
        return save_index(out, extended(existing, replace(planned, shards=shards).whole(), both))


def _backend(flags: IndexFlags) -> "Backend":
    if flags.backend == "faiss":
        print("vtr index: --backend faiss is deprecated; give --backend hnsw, which is the same", file=sys.stderr)
        return "hnsw"
    return flags.backend


def _once(shards: "Iterator[Shard]", data: str) -> "Iterator[Shard]":
    """The shards; DatasetError at the first one with an id that joined data sets have twice."""
    import numpy as np

    seen = np.zeros(0, np.int64)
    for shard in shards:
        keys = shard.lookup.keys
        twice = np.isin(keys, seen) | np.append(False, keys[1:] == keys[:-1])
        if twice.any():
            first = shard.items[shard.lookup.order[twice].min()].item_id
            raise DatasetError(f"{data}: the id {first} is in several data sets; index one alone")
        seen = np.union1d(seen, keys)
        yield shard


def _report(record: "IndexRecord", out: str) -> None:
    from vtr_core.fingerprint import short

    sizes = ", ".join(f"{name} {size}" for name, size in record.sizes.items())
    total = sum(file.bytes for file in record.files)
    parts = f"{len(record.shards)} shards, " if len(record.shards) > 1 else ""
    size = f"{total / 1e6:.1f} MB, {parts}{record.backend}, revision {record.revision}"
    print(f"{record.num_items} items ({sizes}), compared by {record.similarity}; {size}")
    print(f"model       {short(record.model_fingerprint)}  {record.checkpoint}")
    print(f"data        {short(record.data_fingerprint)}  {record.data}")
    print(f"index       {out}")
    print(f'next        vtr search "a query" --index {out}')
