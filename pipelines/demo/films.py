"""Rendered films with captions, as a user's folder of video files and table."""

import csv
from pathlib import Path

from vtr_core.data.worlds.crowds import crowd, crowd_frames
from vtr_core.data.worlds.shapes import FRAME_RATE, film, frames, sound
from vtr_core.video.encoding import Codec, write_video

TABLE = "captions.csv"
NUM_TEST, NUM_VALIDATION = 100, 60
_CODEC = Codec(sound="libmp3lame")


def render(folder: Path, num_films: int, seed: int, *, crowded: bool = False) -> Path:
    """Write missing films, then the table of captions, whose path is returned.

    The last NUM_TEST films are the test set, the NUM_VALIDATION before them the validation set.
    crowded: films of six small shapes, of which captions name three, instead of a single large one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for index in range(num_films):
        told, name = film(seed, index), f"film{index:04d}.mp4"
        captions: tuple[str, ...] = (told.caption,)
        pictures = frames(told)
        if crowded:
            small = crowd(seed, index)
            captions, pictures = small.captions, crowd_frames(small)
        if not (folder / name).exists():
            write_video(str(folder / f".{name}"), pictures, sound(told), _CODEC, FRAME_RATE)
            (folder / f".{name}").rename(folder / name)
        for place, caption in enumerate(captions):
            item = name.removesuffix(".mp4") + (f"-{place}" if crowded else "")
            rows.append((item, caption, name, _split(index, num_films)))
    with (folder / TABLE).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "caption", "video", "split"))
        writer.writerows(rows)
    return folder / TABLE


def _split(index: int, num_films: int) -> str:
    if index >= num_films - NUM_TEST:
        return "test"
    return "val" if index >= num_films - NUM_TEST - NUM_VALIDATION else "train"
