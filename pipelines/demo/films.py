"""Rendered films with captions, as a user's folder of video files and table."""

import csv
from pathlib import Path

from vtr_core.data.worlds.films import FRAME_RATE, film, frames, sound
from vtr_core.video.encoding import Codec, write_video

TABLE = "captions.csv"
NUM_TEST, NUM_VALIDATION = 100, 60
_CODEC = Codec(sound="libmp3lame")


def render(folder: Path, num_films: int, seed: int, *, test: int = NUM_TEST, validation: int = NUM_VALIDATION) -> Path:
    """Write missing films, then the table of captions, whose path is returned.

    test, validation: the number of films in the test set, which are the last ones, and in the validation set before it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for index in range(num_films):
        content, name = film(seed, index), f"film{index:04d}.mp4"
        if not (folder / name).exists():
            write_video(str(folder / f".{name}"), frames(content), sound(content), _CODEC, FRAME_RATE)
            (folder / f".{name}").rename(folder / name)
        split = _split(num_films - index, test, validation)
        rows.append((name.removesuffix(".mp4"), content.caption, name, split))
    with (folder / TABLE).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "caption", "video", "split"))
        writer.writerows(rows)
    return folder / TABLE


def _split(from_end: int, test: int, validation: int) -> str:
    if from_end <= test:
        return "test"
    return "val" if from_end <= test + validation else "train"
