"""A pickle that writes a file when it is loaded, in the forms in which it could reach a reader."""

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import torch


class Payload:
    """Its unpickling creates `marker`."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.marker,)


def forms(marker: Path) -> dict[str, bytes]:
    """File contents by name."""
    payload = Payload(marker)
    torch_file, npy, npz = io.BytesIO(), io.BytesIO(), io.BytesIO()
    torch.save({"optimizer": payload, "objective": {}, "trained": None}, torch_file)
    np.save(npy, np.array([[payload]], dtype=object), allow_pickle=True)
    np.savez(npz, vectors=np.array([payload], dtype=object))
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("../../escaped.npy", npy.getvalue())
    return {
        "pickle": pickle.dumps(payload),
        "pickle, protocol 2": pickle.dumps(payload, protocol=2),
        "torch": torch_file.getvalue(),
        "object array": npy.getvalue(),
        "npz": npz.getvalue(),
        "archive that leads out": zipped.getvalue(),
    }


FORMS = tuple(forms(Path("/nowhere")))
