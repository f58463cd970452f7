"""The work of `vtr index`: of video files by a pretrained encoder, of a data set by a checkpoint, and deletion."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pipelines.arguments import check_counts
from pipelines.evaluate.evaluation_flags import RowsRead, device
from pipelines.extract.command import ExtractFlags, extractor, follow
from pipelines.index.command import IndexFlags
from pipelines.systems.registry import SYSTEMS
from vtr_core import storage
from vtr_core.config.data_sets import JOINED, joined_uris, joined_weights
from vtr_core.data.manifest import data_set
from vtr_core.data.sources.video_files import Inventory
from vtr_core.embedding.embedded_rows import model_fingerprint
from vtr_core.encoders.encoder import BUNDLED, is_encoder, source_of
from vtr_core.errors import ConfigError, DatasetError, command_line
from vtr_core.extraction.features import ClipPooling, check_weights, choose_alike
from vtr_core.fingerprint import short
from vtr_core.retrieval.embed.stored_embeddings import load_embeddings
from vtr_core.retrieval.index.build import StoredEmbeddings, extended, plan_index, without
from vtr_core.retrieval.index.candidates import load_faiss
from vtr_core.retrieval.index.index import MARKER, IndexRecord, Shard, load_index, load_record, save_index
from vtr_core.retrieval.index.windows import VideoVersion, WindowSettings, WindowStore, plan_window_index, versions
from vtr_core.run.inputs import usable_data
from vtr_core.storage import Location, check_writable, delete_folder, locate
from vtr_core.storage.stated_places import stated_place
from vtr_core.systems.spaces import clip_space_of, spaces_of
from vtr_core.train.checkpoint.trained_model import ENCODER, LoadedModel, read_model, read_stated_model

DEFAULT_WINDOW_S = 5.0
THUMBNAIL_SIZE = 192
IN_PROCESS = 1000
"""Files up to which encoding them here takes less time than starting Ray, unless --workers says otherwise."""


def index(flags: IndexFlags) -> IndexRecord:
    """Embed the videos, or change the index, write it, and print its content."""
    if flags.out is None:
        raise ConfigError("vtr index: --out is missing: the folder or URI of the index")
    if flags.shards is not None:
        check_counts("vtr index", shards=flags.shards)
    out = locate(flags.out)
    check_writable(out)
    if flags.delete:
        record = _delete(flags, out)
    elif flags.data is None and flags.embeddings is None and flags.checkpoint is not None:
        record = _index_videos(flags, flags.checkpoint, out)
    else:
        record = _index_data(flags, out)
    sizes = ", ".join(f"{name} {size}" for name, size in record.sizes.items())
    total = sum(file.bytes for file in record.files)
    parts = f"{len(record.shards)} shards, " if len(record.shards) > 1 else ""
    size = f"{total / 1e6:.1f} MB, {parts}{record.backend}, revision {record.revision}"
    print(f"{record.num_items} items ({sizes}), compared by {record.similarity}; {size}")
    print(f"model       {short(record.model_fingerprint)}  {record.checkpoint}")
    print(f"data        {short(record.data_fingerprint)}  {record.data}")
    print(f"index       {flags.out}")
    print(f"next        {command_line('search', 'a query', '--index', flags.out)}")
    return record


def _delete(flags: IndexFlags, out: Location) -> IndexRecord:
    sources = (flags.checkpoint, flags.data, flags.embeddings, flags.encoder)
    if flags.add or any(source is not None for source in sources):
        raise ConfigError(
            "vtr index: --delete takes --out alone, no videos, checkpoint, --data, --embeddings, --encoder or --add"
        )
    record = save_index(out, without(load_index(out), flags.delete))
    store = WindowStore.beside(out)
    if store:
        store.drop(flags.delete)
    return record


def _index_data(flags: IndexFlags, out: Location) -> IndexRecord:
    """Write the index of the data set; with --add that at `out`, extended."""
    video_flags = {
        "--window": flags.window is not None,
        "--workers": flags.workers is not None,
        "--anywhere": flags.anywhere,
        "--no-thumbnails": not flags.thumbnails,
        "--weights": bool(flags.weights),
    }
    unsuitable = [name for name, is_given in video_flags.items() if is_given]
    if unsuitable:
        raise ConfigError(f"vtr index: {' and '.join(unsuitable)} belong to videos; leave out --data and --embeddings")
    existing = load_index(out) if flags.add else None
    windows = WindowStore.beside(out)
    if existing is not None and windows:
        raise ConfigError(f"vtr index: {flags.out} is an index of video files; --add takes videos, without --data")
    backend = flags.backend if existing is None else existing.record.backend
    if backend == "ivf-pq":
        load_faiss()  # before anything is embedded
    if flags.checkpoint is not None and flags.encoder is not None:
        raise ConfigError(f"vtr index: give {flags.checkpoint} or --encoder {flags.encoder} for the data set, not both")
    embeddings = None if flags.embeddings is None else load_embeddings(flags.embeddings)
    checkpoint = flags.checkpoint if flags.encoder is None else _model_uri(flags.encoder)
    stated = None if embeddings is None else embeddings.checkpoint
    data = flags.data or (None if embeddings is None else _stated_data(embeddings.data, str(flags.embeddings)))
    if (checkpoint is None and stated is None) or data is None:
        raise ConfigError(
            "vtr index: give a checkpoint and --data URI, or --embeddings URI; or videos (a folder, glob, list or "
            "table); or --delete IDS"
        )
    if max(joined_weights(data)) > 1:
        raise ConfigError(f"vtr index --data {data}: an index has every video once; leave out the weights")
    loaded = read_stated_model(checkpoint, str(stated), str(flags.embeddings), SYSTEMS, device(), "CHECKPOINT")
    spaces_of(loaded, "an index")
    manifest = usable_data(loaded.config.model, data)
    stored = None
    if embeddings is not None and flags.embeddings is not None:
        embeddings.check(model_fingerprint(loaded.model), manifest, flags.embeddings)
        stored = StoredEmbeddings(embeddings, flags.embeddings)
    with RowsRead(manifest) as read:
        planned = plan_index(loaded, manifest, backend, stored, flags.shards, read.watch)
        if len(joined_uris(data)) > 1:
            planned = replace(planned, shards=_once(planned.shards, data))
        if existing is None:
            record = save_index(out, planned)
            delete_folder(windows.location)  # of an index of video files that this one replaces
            return record
        before = joined_uris(_stated_data(existing.record.data, str(flags.out)))
        others = [part for part in before if data_set(part) not in joined_uris(manifest.uri)]
        both = usable_data(loaded.config.model, JOINED.join([*others, manifest.uri]))
        return save_index(out, extended(existing, planned.whole(), both))


def _stated_data(data: str, file: str) -> str:
    """The data sets that a file names, as far as it may: `stated_place`."""
    return JOINED.join(stated_place(part, file, "--data") for part in joined_uris(data))


def _once(shards: Iterator[Shard], data: str) -> Iterator[Shard]:
    """The shards; DatasetError at the first one with an id that joined data sets have twice."""
    earlier = np.zeros(0, np.int64)
    for shard in shards:
        keys = shard.lookup.keys
        twice = np.isin(keys, earlier) | np.append(False, keys[1:] == keys[:-1])
        if twice.any():
            first = shard.items[shard.lookup.order[twice].min()].item_id
            raise DatasetError(f"{data}: the id {first} is in several data sets; index one alone")
        earlier = np.union1d(earlier, keys)
        yield shard


def _index_videos(flags: IndexFlags, videos: str, out: Location) -> IndexRecord:
    """Encode the files that the index does not have as they are now, and write the index of all.

    With --add files that VIDEOS does not give stay in the index; otherwise they are dropped.
    """
    if flags.shards is not None:
        raise ConfigError("vtr index: --shards is for a data set; an index of videos has one of each million hits")
    store = WindowStore.beside(out)
    has_index = storage.exists(out / MARKER)
    if flags.add and has_index and not store:
        raise ConfigError(f"vtr index: {flags.out} is an index of a data set; --add takes a data set, by --data URI")
    _check_no_model(videos)
    inventory = Inventory(videos, flags.anywhere)
    files = inventory.files
    for fault in inventory.left_out:
        print(f"left out: {fault}")
    loaded = _window_model(flags, store)
    settings = _window_settings(flags, loaded, store)
    fingerprint = model_fingerprint(loaded.model)
    store.claim(loaded.uri, fingerprint, settings)
    listed = versions(files)
    new = store.outdated(listed)
    if new:
        _encode(store, new, settings, flags)
    names = {video.name for video in listed} | (store.names() if flags.add else set())
    store.keep(names)
    _report_dropped(store, len(names))
    if has_index and not new:
        before = load_record(out)
        same = before.model_fingerprint, before.data_fingerprint, before.backend
        if same == (fingerprint, store.fingerprint(), flags.backend):
            print(f"{flags.out} is up to date: {len(listed)} files, none new or changed")
            return before
    return save_index(out, plan_window_index(loaded, store, videos, flags.backend))


def _check_no_model(place: str) -> None:
    """ConfigError where a model is given in the place of videos."""
    is_model = place.startswith((ENCODER, "models:", "hub:"))
    if not is_model:
        is_model = any(storage.exists(locate(place) / name) for name in ("config.json", "checkpoints", "run.json"))
    if is_model:
        raise ConfigError(
            f"vtr index: {place} is a model, and there is nothing to index; give --data URI for a data set's videos, "
            f"or the videos, and the model as --encoder {place.removeprefix(ENCODER)}"
        )


def _model_uri(encoder: str) -> str:
    """What `read_model` takes for an encoder's name, or for the folder of a trained model."""
    name = encoder.removeprefix(ENCODER)
    if is_encoder(name):
        return f"{ENCODER}{name}"
    if not encoder.startswith(("models:", "hub:")) and not ("/" in name and storage.exists(locate(name))):
        source_of(name)  # raises, with the nearest name
    return name


def _window_model(flags: IndexFlags, store: WindowStore) -> LoadedModel:
    """The encoder that the flags name, else the index's own, else the bundled one."""
    own = str(store.record()["checkpoint"]) if flags.encoder is None and store else None
    if own is None:
        loaded = read_model(_model_uri(flags.encoder or BUNDLED), SYSTEMS, device())
    else:
        loaded = read_stated_model(None, own, str(flags.out), SYSTEMS, device(), "--encoder")
    clip_space_of(loaded, "an index of video files")
    if loaded.config.model.system().records(loaded.config.model) == "videos":
        raise ConfigError(
            f"vtr index: {loaded.uri} reads whole videos, and a hit is a window; give a model of clips as --encoder, "
            "or index a data set with --data URI"
        )
    return loaded


def _window_settings(flags: IndexFlags, loaded: LoadedModel, store: WindowStore) -> WindowSettings:
    made = loaded.provenance.get("extraction")
    if not isinstance(made, dict):
        raise ConfigError(
            f"vtr index: {loaded.uri} names no recipes of its features, because its training data are not of vtr "
            "extract; index a data set with --data URI, or give another --encoder"
        )
    chosen = choose_alike(made["recipes"], flags.weights, loaded.uri)
    check_weights(chosen, flags.weights)
    before = store.record() if store else {}
    seconds = flags.window if flags.window is not None else float(before.get("window", DEFAULT_WINDOW_S))
    size = THUMBNAIL_SIZE if flags.thumbnails else None
    return WindowSettings(chosen, ClipPooling(made["pool"], made["normalise"]), seconds, size)


def _encode(store: WindowStore, videos: Sequence[VideoVersion], settings: WindowSettings, flags: IndexFlags) -> None:
    """Write the parts of the store, here or on Ray."""
    assert flags.checkpoint is not None, "the positional argument, which are videos here"
    assert flags.out is not None, "checked"
    workers = (0 if len(videos) <= IN_PROCESS else None) if flags.workers is None else flags.workers
    extract = extractor(settings.recipes, ExtractFlags(flags.checkpoint, flags.out, workers=workers))
    follow(store.encode(videos, settings, extract), len(videos))


def _report_dropped(store: WindowStore, files: int) -> None:
    """Print what was dropped; DatasetError where nothing is left."""
    counts, examples = store.dropped()
    for reason, count in sorted(counts.items()):
        print(f"dropped {count} × {reason}, for instance {examples[reason]}")
    if counts.total() >= files:
        first = next(iter(examples.values()))
        raise DatasetError(f"none of the {files} files can be encoded, for instance {first}; give other videos")
