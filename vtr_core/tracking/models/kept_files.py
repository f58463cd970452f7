"""The part of a checkpoint that a registered model keeps: the files that evaluation needs, or a reference."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vtr_core import storage
from vtr_core.errors import CheckpointError
from vtr_core.json_text import parse_json
from vtr_core.storage import Location, locate

MARKER = "checkpoint.json"
"""The file of a checkpoint, written last, that lists the others with their hashes."""
REFERENCE = "reference.json"
_FOR_TRAINING_ALONE = ("optimizer.pt",)


@dataclass(frozen=True)
class KeptFiles:
    """The copy or reference of a checkpoint in a registered model."""

    fingerprint: str
    """sha256 of the checkpoint's list of files and hashes, and with it of all that it holds."""
    copied: bool
    """Whether the files were copied."""
    num_bytes: int
    """Size of what is kept."""


def keep_files(checkpoint: Location, folder: Path) -> KeptFiles:
    """Put what a model keeps into the new `folder`; CheckpointError where the checkpoint is incomplete or damaged."""
    folder.mkdir()
    marker = _marker(checkpoint)
    fingerprint = hashlib.sha256(marker).hexdigest()
    if not checkpoint.is_local:
        storage.write_json(locate(folder / REFERENCE), {"uri": checkpoint.uri, "fingerprint": fingerprint})
        return KeptFiles(fingerprint, False, _size(folder))
    for name, expected in _hashes(checkpoint).items():
        if name not in _FOR_TRAINING_ALONE:
            (folder / name).write_bytes(_checked(checkpoint / name, expected))
    (folder / MARKER).write_bytes(marker)
    return KeptFiles(fingerprint, True, _size(folder))


def kept_checkpoint(folder: Location, fingerprint: str | None = None) -> Location:
    """The checkpoint of a model whose files are in `folder`: that folder, or the location it refers to.

    Raises CheckpointError where it does not exist any more, or is not the one that was registered (`fingerprint`, if
    given).
    """
    place, fingerprints = folder, {fingerprint} - {None}
    if storage.exists(folder / REFERENCE):
        uri, expected = _reference(folder / REFERENCE)
        place, fingerprints = locate(uri), {*fingerprints, expected}
        if not storage.exists(place / MARKER):
            raise CheckpointError(
                f"the model is the checkpoint {place}, which is not there any more; restore it, or register another one"
            )
    if fingerprints - {hashlib.sha256(_marker(place)).hexdigest()}:
        raise CheckpointError(
            f"{place} is not the checkpoint that was registered (its hashes differ); register it anew"
        )
    return place


def checked_file(checkpoint: Location, name: str) -> bytes:
    """A file of a checkpoint; CheckpointError where it is missing or its hash differs."""
    hashes = _hashes(checkpoint)
    if name not in hashes:
        raise CheckpointError(f"{checkpoint} lacks {name}; use another checkpoint of the run")
    return _checked(checkpoint / name, hashes[name])


def _reference(place: Location) -> tuple[str, str]:
    """The URI and the fingerprint that a model refers to."""
    value = storage.read_json(place)
    members = [value.get(name) for name in ("uri", "fingerprint")] if isinstance(value, dict) else []
    match members:
        case [str(uri), str(fingerprint)]:
            return uri, fingerprint
        case _:
            raise CheckpointError(f"{place} is damaged: it must hold a uri and a fingerprint; register it anew")


def _marker(checkpoint: Location) -> bytes:
    try:
        return storage.read_bytes(checkpoint / MARKER)
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{checkpoint} is not a complete checkpoint: it has no {MARKER}; give a folder in the checkpoints/ of a run"
        ) from error


def _parsed(content: bytes) -> Any:
    try:
        return parse_json(content)
    except ValueError:
        return None


def _hashes(checkpoint: Location) -> dict[str, str]:
    marker = _parsed(_marker(checkpoint))
    files = marker.get("files") if isinstance(marker, dict) else None
    if not isinstance(files, dict) or not all(storage.is_file_name(name) for name in files):
        raise CheckpointError(f"{checkpoint / MARKER} is damaged; use another checkpoint of the run")
    return files


def _checked(place: Location, expected: str) -> bytes:
    try:
        content = storage.read_bytes(place)
    except OSError as error:
        raise CheckpointError(f"{place} cannot be read ({error}); use another checkpoint of the run") from error
    if hashlib.sha256(content).hexdigest() != expected:
        raise CheckpointError(f"{place} is damaged (its sha256 differs); use another checkpoint of the run")
    return content


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())
