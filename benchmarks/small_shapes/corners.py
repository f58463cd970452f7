"""What a linear map reads of the shape in each corner: from a frame's mean, and from the tokens of that corner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from sklearn.linear_model import RidgeClassifier

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.frames import video_rows
from vtr_core.data.worlds.corners import CORNERS, CornerFilm

GRID, _REGION, _CHUNK = 7, 3, 64
_STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0)
NOTHING = "none"
"""The label of a corner without a shape."""


@dataclass(frozen=True)
class Tokens:
    """The tokens of films, mean over their frames."""

    values: Float[np.ndarray, "films tokens dim"]
    """The frame's mean first, and then 7 × 7 places."""
    films: tuple[str, ...]


def read_tokens(uri: str, max_frames: int) -> Tokens:
    """The tokens of a data set, as a model sees them with at most `max_frames` frames."""
    manifest, values, films = Manifest.load(uri), [], list[str]()
    for rows in video_rows(manifest, row_groups(manifest), max_frames, _CHUNK):
        for place, name in enumerate(rows.video_id):
            frames = rows.frames["video"][place][rows.mask["video"][place]].float()
            values.append(frames.unflatten(1, (1 + GRID**2, -1)).mean(dim=0).numpy())
            films.append(name)
    return Tokens(np.stack(values), tuple(films))


def region(values: Float[np.ndarray, "films tokens dim"], corner: str) -> Float[np.ndarray, "films dim"]:
    """The maximum over the 3 × 3 places of a corner, of the 7 × 7."""
    places = values[:, 1:].reshape(len(values), GRID, GRID, -1)
    right, down = (slice(-_REGION, None) if end else slice(None, _REGION) for end in CORNERS[corner])
    return places[:, down, right].max(axis=(1, 2))


def labels(films: Sequence[CornerFilm], corner: str, what: str) -> np.ndarray:
    """The colour or the shape of the small shape in a corner of each film; NOTHING where there is none."""
    found = [{one.corner: {"colour": one.colour, "shape": one.shape} for one in film.small} for film in films]
    return np.array([each.get(corner, {}).get(what, NOTHING) for each in found])


def read_out(sets: Mapping[str, Tokens], films: Mapping[str, CornerFilm]) -> dict[str, dict[str, float]]:
    """By what is read (colour, shape) the share of test films, mean over corners, of which each source tells it.

    Sources: the frame's mean, the corner's tokens, and the commonest label of the training films. Ridge regression to
    classes, from standardised values; its strength is chosen on validation films.
    """
    of = {name: [films[film] for film in one.films] for name, one in sets.items()}
    found: dict[str, dict[str, float]] = {}
    for what in ("colour", "shape"):
        scores: dict[str, list[float]] = {"commonest": [], "mean of the frame": [], "tokens of the corner": []}
        for corner in CORNERS:
            told = {name: labels(of[name], corner, what) for name in sets}
            names, counts = np.unique(told["train"], return_counts=True)
            scores["commonest"].append(float((told["test"] == names[counts.argmax()]).mean()))
            mean = {name: one.values[:, 0] for name, one in sets.items()}
            scores["mean of the frame"].append(_accuracy(mean, told))
            near = {name: region(one.values, corner) for name, one in sets.items()}
            scores["tokens of the corner"].append(_accuracy(near, told))
        found[what] = {name: 100 * float(np.mean(values)) for name, values in scores.items()}
    return found


def _accuracy(seen: Mapping[str, Float[np.ndarray, "films dim"]], told: Mapping[str, np.ndarray]) -> float:
    middle, spread = seen["train"].mean(axis=0), seen["train"].std(axis=0) + 1e-3
    scaled = {name: (values - middle) / spread for name, values in seen.items()}
    dim = scaled["train"].shape[1]
    maps = [RidgeClassifier(alpha=strength * dim).fit(scaled["train"], told["train"]) for strength in _STRENGTHS]
    best = max(maps, key=lambda one: one.score(scaled["val"], told["val"]))
    return float(best.score(scaled["test"], told["test"]))
