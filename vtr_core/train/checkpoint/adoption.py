"""Population based training: a trial that continues from another trial's weights."""

from vtr_core import storage
from vtr_core.errors import CheckpointError
from vtr_core.storage import Location, is_file_name
from vtr_core.train.checkpoint.files import MARKER, complete_checkpoints, remove_checkpoint
from vtr_core.train.checkpoint.run_folder import RunFolder


def adopt(folder: RunFolder, source: RunFolder, name: str) -> Location:
    """Copy the checkpoint `name` of the run `source` into `folder`, which continues from it; returns the copy.

    The folder's own checkpoints of that step and later ones are deleted. If `source`, which keeps only its newest
    checkpoints, has deleted this one by now, its newest is copied instead. Raises CheckpointError where it has none.
    """
    candidates = [source.checkpoints / name, *reversed(complete_checkpoints(source.checkpoints))]
    for candidate in candidates:
        files = _read(candidate)
        if files is None:
            continue
        for own in complete_checkpoints(folder.checkpoints):
            if own.name >= candidate.name:
                remove_checkpoint(own)
        place = folder.checkpoints / candidate.name
        for file, content in files.items():
            storage.write_bytes(place / file, content)
        return place
    raise CheckpointError(f"{source.checkpoints} has no checkpoint to go on from")


def _read(place: Location) -> dict[str, bytes] | None:
    """The files of a checkpoint, the marker last; None where it does not exist, or is deleted meanwhile."""
    try:
        if not storage.exists(place / MARKER):
            return None
        marker = storage.read_json(place / MARKER)
        names = [*marker["files"], MARKER]
        if not all(map(is_file_name, names)):
            raise CheckpointError(f"{place / MARKER} is damaged: it must name files beside it")
        return {name: storage.read_bytes(place / name) for name in names}
    except FileNotFoundError:
        return None
