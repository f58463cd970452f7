"""Which form has which colour, read by a linear map: from a frame's mean, and from the tokens where the shape is."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from sklearn.linear_model import RidgeClassifier

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.evaluated_rows import video_rows
from vtr_core.data.worlds.films import CROWD_COLOURS, Crowd

GRID, _AROUND, _CHUNK = 7, 1, 64
_STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0)
SOURCES = ("commonest", "mean of the frame", "tokens of its place")


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


def near(tokens: Float[np.ndarray, "tokens dim"], point: tuple[float, float]) -> Float[np.ndarray, " dim"]:
    """The maximum over the 3 × 3 places around a point of the picture, as far as there are."""
    across, down = (int(value * GRID) for value in point)
    rows, columns = (slice(max(0, one - _AROUND), one + _AROUND + 1) for one in (down, across))
    found: Float[np.ndarray, " dim"] = tokens[1:].reshape(GRID, GRID, -1)[rows, columns].max(axis=(0, 1))
    return found


def read_out(sets: Mapping[str, Tokens], films: Mapping[str, Crowd]) -> dict[str, float]:
    """By SOURCES the share of test films, mean over colours, of which a linear map tells the form that has the colour.

    sets: train, val and test. Ridge regression to classes, from standardised values; its strength is chosen on
    validation films. "commonest" is the training films' commonest form.
    """
    scores: dict[str, list[float]] = {name: [] for name in SOURCES}
    for number in range(len(CROWD_COLOURS)):
        shown = {name: [films[film].small[number] for film in one.films] for name, one in sets.items()}
        told = {name: np.array([one.shape for one in each]) for name, each in shown.items()}
        names, counts = np.unique(told["train"], return_counts=True)
        scores["commonest"].append(float((told["test"] == names[counts.argmax()]).mean()))
        scores["mean of the frame"].append(_accuracy({name: one.values[:, 0] for name, one in sets.items()}, told))
        places = {
            name: np.stack([near(each, small.at(0.5)) for each, small in zip(one.values, shown[name], strict=True)])
            for name, one in sets.items()
        }
        scores["tokens of its place"].append(_accuracy(places, told))
    return {name: 100 * float(np.mean(values)) for name, values in scores.items()}


def _accuracy(seen: Mapping[str, Float[np.ndarray, "films dim"]], told: Mapping[str, np.ndarray]) -> float:
    middle, spread = seen["train"].mean(axis=0), seen["train"].std(axis=0) + 1e-3
    scaled = {name: (values - middle) / spread for name, values in seen.items()}
    dim = scaled["train"].shape[1]
    maps = [RidgeClassifier(alpha=strength * dim).fit(scaled["train"], told["train"]) for strength in _STRENGTHS]
    best = max(maps, key=lambda one: one.score(scaled["val"], told["val"]))
    return float(best.score(scaled["test"], told["test"]))
