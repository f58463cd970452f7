"""`vtr index VIDEOS --out URI`: video files become searchable by a pretrained encoder, without captions."""

import time
from typing import TYPE_CHECKING

from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.index.command import IndexFlags
    from vtr_core.extraction.outputs import Extract
    from vtr_core.retrieval.index.record import Backend, IndexRecord
    from vtr_core.retrieval.index.windows import VideoVersion, WindowSettings, WindowStore
    from vtr_core.storage import Location
    from vtr_core.train.checkpoint.trained_model import LoadedModel

DEFAULT_WINDOW_S = 5.0
THUMBNAIL_SIZE = 192
IN_PROCESS = 1000
"""Files up to which encoding them here takes less time than starting Ray, unless --workers says otherwise."""


def index_videos(flags: "IndexFlags", out: "Location", backend: "Backend") -> "IndexRecord":
    """Encode the files that the index does not have as they are now, and write the index of all.

    With --add files that VIDEOS does not give stay in the index; otherwise they are dropped.
    """
    from vtr_core.data.sources.video_files import Inventory
    from vtr_core.embedding.embedded_rows import model_fingerprint
    from vtr_core.retrieval.index.index import load_record, save_shards
    from vtr_core.retrieval.index.record import MARKER
    from vtr_core.retrieval.index.window_index import plan_window_index
    from vtr_core.retrieval.index.windows import WindowStore, versions
    from vtr_core.storage import exists

    assert flags.checkpoint is not None, "the positional argument, which are videos here"
    store = WindowStore.beside(out)
    has_index = exists(out / MARKER)
    if flags.add and has_index and not store:
        raise ConfigError(f"vtr index: {flags.out} is an index of a data set; --add takes a data set, by --data URI")
    _check_no_model(flags.checkpoint)
    files = Inventory(flags.checkpoint, flags.anywhere).files
    loaded = _model(flags, store)
    settings = _settings(flags, loaded, store)
    fingerprint = model_fingerprint(loaded.model)
    store.claim(loaded.uri, fingerprint, settings)
    listed = versions(files)
    new = store.outdated(listed)
    _encode(store, new, settings, flags)
    kept = {video.name for video in listed} | (store.names() if flags.add else set())
    store.keep(kept)
    _tell_dropped(store, len(kept))
    if has_index and not new:
        before = load_record(out)
        if (before.model_fingerprint, before.data_fingerprint, before.backend) == (
            fingerprint,
            store.fingerprint(),
            backend,
        ):
            print(f"{flags.out} is up to date: {len(listed)} files, none new or changed")
            return before
    planned = plan_window_index(loaded, store, flags.checkpoint, backend)
    return save_shards(out, planned.record, planned.shards, planned.concepts)


def _check_no_model(place: str) -> None:
    """ConfigError where a model is given in the place of videos."""
    from vtr_core import storage
    from vtr_core.storage import locate
    from vtr_core.train.checkpoint.trained_model import ENCODER

    names = ("config.json", "checkpoints", "run.json")
    is_model = place.startswith((ENCODER, "models:", "hub:"))
    if not is_model and not any(mark in place for mark in "*?["):
        is_model = any(storage.exists(locate(place) / name) for name in names)
    if is_model:
        raise ConfigError(
            f"vtr index: {place} is a model, and there is nothing to index; give --data URI for a data set's videos, "
            f"or the videos, and the model as --encoder {place.removeprefix(ENCODER)}"
        )


def model_uri(encoder: str) -> str:
    """What `read_model` takes for an encoder's name, or for the folder of a trained model."""
    from vtr_core import storage
    from vtr_core.encoders.encoder import is_encoder, source_of
    from vtr_core.storage import locate
    from vtr_core.train.checkpoint.trained_model import ENCODER

    name = encoder.removeprefix(ENCODER)
    if is_encoder(name):
        return f"{ENCODER}{name}"
    if not encoder.startswith(("models:", "hub:")) and not ("/" in name and storage.exists(locate(name))):
        source_of(name)  # raises, with the nearest name
    return name


def _model(flags: "IndexFlags", store: "WindowStore") -> "LoadedModel":
    """The encoder that is asked for, else the index's own, else the bundled one."""
    from pipelines.evaluation_inputs import device
    from vtr_core.encoders.encoder import BUNDLED
    from vtr_core.systems.spaces import clip_space_of
    from vtr_core.train.checkpoint.trained_model import read_model

    own = str(store.record()["checkpoint"]) if flags.encoder is None and store else None
    loaded = read_model(own or model_uri(flags.encoder or BUNDLED), SYSTEMS, device())
    clip_space_of(loaded, "an index of video files")
    if loaded.config.model.system().records(loaded.config.model) == "videos":
        raise ConfigError(
            f"vtr index: {loaded.uri} reads whole videos, and a hit is a window; give a model of clips as --encoder, "
            "or index a data set with --data URI"
        )
    return loaded


def _settings(flags: "IndexFlags", loaded: "LoadedModel", store: "WindowStore") -> "WindowSettings":
    from vtr_core.extraction.features import ClipPooling
    from vtr_core.extraction.networks import check_weights, choose_alike
    from vtr_core.retrieval.index.windows import WindowSettings

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


def _encode(
    store: "WindowStore", videos: "Sequence[VideoVersion]", settings: "WindowSettings", flags: "IndexFlags"
) -> None:
    from pipelines.extract.command import remark
    from pipelines.progress import Meter

    if not videos:
        return
    begun = time.monotonic()
    with Meter(len(videos), "videos") as meter:
        for progress in store.encode(videos, settings, _extract(settings, flags, len(videos))):
            meter.tell(progress.videos, remark(progress, time.monotonic() - begun))


def _extract(settings: "WindowSettings", flags: "IndexFlags", files: int) -> "Extract":
    from pipelines.extract.command import ExtractFlags, extractor

    assert flags.checkpoint is not None
    assert flags.out is not None
    workers = (0 if files <= IN_PROCESS else None) if flags.workers is None else flags.workers
    return extractor(settings.asked, ExtractFlags(flags.checkpoint, flags.out, workers=workers))


def _tell_dropped(store: "WindowStore", files: int) -> None:
    """Print what was dropped; DatasetError where nothing is left."""
    counts, examples = store.dropped()
    for reason, count in sorted(counts.items()):
        print(f"dropped {count} × {reason}, for instance {examples[reason]}")
    if counts.total() >= files:
        first = next(iter(examples.values()))
        raise DatasetError(f"none of the {files} files can be encoded, for instance {first}; give other videos")
