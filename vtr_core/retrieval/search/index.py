"""Search of an index, for all kinds of models, checked against model and data."""

from vtr_core import storage
from vtr_core.config.data_sets import joined_uris
from vtr_core.data.manifest import FILE, Manifest
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import short
from vtr_core.retrieval.embed.joint_space import JointSpace
from vtr_core.retrieval.embed.model_fingerprint import model_fingerprint
from vtr_core.retrieval.explain.frames import KeyFrames
from vtr_core.retrieval.index.index import VideoIndex
from vtr_core.retrieval.index.record import IndexRecord
from vtr_core.retrieval.index.window_index import WindowFrames
from vtr_core.retrieval.index.windows import WindowStore
from vtr_core.retrieval.search.dual_searcher import DualSearcher
from vtr_core.retrieval.search.dual_spaces import DualSpaces
from vtr_core.retrieval.search.joint_searcher import JointSearcher
from vtr_core.retrieval.search.searcher import Searcher, SearchOptions
from vtr_core.retrieval.spaces import spaces_of
from vtr_core.storage import locate
from vtr_core.systems.loaded_model import TrainedModel


def searcher(index: VideoIndex, loaded: TrainedModel, options: SearchOptions) -> Searcher:
    """A searcher of `index`; DatasetError where `loaded` is not its model, ConfigError for unsuitable options."""
    check_model(index.record, loaded)
    match spaces_of(loaded, "search"):
        case DualSpaces() as spaces:
            return DualSearcher(index, loaded, spaces, options)
        case JointSpace() as space:
            return JointSearcher(index, loaded, space, options)


def check_model(record: IndexRecord, loaded: TrainedModel) -> None:
    """DatasetError unless the index was computed with this model."""
    found = model_fingerprint(loaded.model)
    if found != record.model_fingerprint:
        raise DatasetError(
            f"the index was made with the model {short(record.model_fingerprint)} ({record.checkpoint}), the "
            f"checkpoint is {short(found)} ({loaded.uri}): their vectors cannot be compared; run vtr index again, or "
            "give the index's own --checkpoint"
        )


def key_frames(index: str, record: IndexRecord) -> KeyFrames | None:
    """The pictures of an index's items: those beside an index of video files, or the data set's, where it is there.

    DatasetError where the data set is another than the one that was indexed.
    """
    store = WindowStore.beside(locate(index))
    if store:
        return WindowFrames(store)
    return Thumbnails(Manifest.load(record.data)) if check_data(record) else None


def check_data(record: IndexRecord) -> bool:
    """Whether the indexed data set still exists, unchanged; False where it is missing. DatasetError where it differs.

    An unreachable store is no error, as the index does not need the data set.
    """
    try:
        if not all(storage.exists(locate(part) / FILE) for part in joined_uris(record.data)):
            return False
        found = Manifest.load(record.data).fingerprint
    except (storage.StorageError, OSError):
        return False
    if found != record.data_fingerprint:
        raise DatasetError(
            f"{record.data} was ingested again since it was indexed (it is {short(found)}, the index is of "
            f"{short(record.data_fingerprint)}); run vtr index again"
        )
    return True
