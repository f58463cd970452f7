"""Files of CLIP's outputs for a video: tokens of frames, optionally vectors of captions."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Num

from vtr_core.data.sources.features.feature_arrays import FeatureArray, check_values, parse_npy, read_npz
from vtr_core.data.sources.files import read_file
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.storage import Location

_TOKENS, _CLS, _PATCHES, _TEXT = "tokens", "cls", "patches", "text"


@dataclass(frozen=True)
class ClipFile:
    """The arrays of a file, all finite."""

    frames: Num[np.ndarray, "frames values"]
    """For each frame the [CLS] token followed by the patch tokens in row-major order."""
    text: FeatureArray | None
    """(captions, dim), or (dim,) of a single one; None where the file has none."""


def read_clip_file(location: Location, grid: int | None) -> ClipFile:
    """The frames of `1 + grid²` tokens each (without a grid: of one) of a `.npy` or `.npz` file.

    .npy: (frames, tokens, dim) or (frames, tokens · dim). .npz: the same as `tokens`, or `cls` (frames, dim) and
    `patches` (frames, grid², dim) or (frames, grid, grid, dim) apart; `text` holds the captions' vectors. Raises
    UnusableError with the reason.
    """
    where, content = str(location), read_file(location)
    if not location.name.endswith(".npz"):
        return ClipFile(_frames(parse_npy(content, where), grid, where), None)
    arrays = read_npz(content, (_TOKENS, _CLS, _PATCHES, _TEXT), where)
    text = arrays.pop(_TEXT, None)
    if text is not None:
        check_caption_vectors(text, f"{where}, {_TEXT}")
    if _TOKENS in arrays:
        tokens = arrays[_TOKENS]
    elif _CLS in arrays:
        tokens = _put_together(arrays[_CLS], arrays.get(_PATCHES), grid, where)
    else:
        raise UnusableError(Reason.NO_FEATURES, f"{where} holds neither {_TOKENS} nor {_CLS} (and {_PATCHES})")
    return ClipFile(_frames(tokens, grid, where), text)


def check_caption_vectors(vectors: FeatureArray, where: str) -> None:
    """UnusableError, naming `where` they are from, unless they are (captions, dim) or (dim,), and finite."""
    if vectors.ndim not in (1, 2):
        raise UnusableError(Reason.WRONG_RANK, f"{where} has shape {vectors.shape}, not (captions, dim) or (dim,)")
    check_values(vectors, where)


def num_tokens(grid: int | None) -> int:
    """Tokens of a frame."""
    return 1 if grid is None else 1 + grid**2


def _frames(tokens: FeatureArray, grid: int | None, where: str) -> Num[np.ndarray, "frames values"]:
    count = num_tokens(grid)
    if tokens.ndim not in (2, 3):
        what = f"{where} has shape {tokens.shape}, not (frames, tokens, dim) or (frames, tokens · dim)"
        raise UnusableError(Reason.WRONG_RANK, what)
    if len(tokens) == 0:
        raise UnusableError(Reason.NO_FRAMES, f"{where} has shape {tokens.shape}, which holds no frame")
    if tokens.ndim == 3 and tokens.shape[1] != count:
        raise UnusableError(Reason.WRONG_DIMENSION, f"{where} has {tokens.shape[1]} tokens a frame; {_needs(grid)}")
    frames = tokens.reshape(len(tokens), -1)
    check_values(frames, where)
    if frames.shape[1] % count:
        raise UnusableError(Reason.WRONG_DIMENSION, f"{where} has {frames.shape[1]} values a frame; {_needs(grid)}")
    return frames


def _needs(grid: int | None) -> str:
    if grid is None:
        return "without a grid a frame is one vector; give --grid, the patches on a side of a frame"
    return f"a {grid} × {grid} grid has {num_tokens(grid)} tokens of one dimension; set --grid to that of your files"


def _put_together(
    cls: FeatureArray, patches: FeatureArray | None, grid: int | None, where: str
) -> Num[np.ndarray, "..."]:
    """[CLS] tokens concatenated with the patches of their frames."""
    if patches is None:
        return cls
    if grid is not None and patches.ndim == 4 and patches.shape[1:3] == (grid, grid):
        patches = patches.reshape(len(patches), grid**2, -1)
    cls = cls[:, None] if cls.ndim == 2 else cls
    if cls.ndim != 3 or patches.ndim != 3 or len(cls) != len(patches) or cls.shape[1:] != (1, patches.shape[2]):
        what = f"{where}: cls has shape {cls.shape} and patches {patches.shape}, which are not of the same frames"
        raise UnusableError(Reason.WRONG_DIMENSION, f"{what}: (frames, dim) and (frames, grid · grid, dim)")
    return np.concatenate([cls, patches], axis=1)
