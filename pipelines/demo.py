"""`vtr demo`: the films that it draws, trained, indexed and searched."""

import csv
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipelines.arguments import check_counts, parse, print_help, wants_help
from vtr_core.data.worlds.films import FRAME_RATE, film, frames, sound
from vtr_core.errors import ConfigError, command_line
from vtr_core.storage.location import below
from vtr_core.video.streams import Codec, write_video

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


PRESET = "adapter"
QUERY = "a green star moves to the right"
_TEST, _VALIDATION, _FEWEST_TRAINING = 60, 40, 40


@dataclass(frozen=True)
class DemoFlags:
    """Flags of `vtr demo`."""

    films: int = 300
    """Number of rendered films, of which the last 60 are the test set and the 40 before them the validation set."""
    seed: int = 0
    """Random seed of the films and of training."""
    data: str | None = None
    """Folder of the films and the data set (default: data/films-<films>-<seed>); what is there already is reused."""
    out: str | None = None
    """Run folder (default: runs/demo-<time>)."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print_help("vtr demo", DemoFlags)
        return
    flags = parse(DemoFlags, argv, "vtr demo")
    check_counts("vtr demo", films=flags.films)
    demo(flags)


def demo(flags: DemoFlags) -> None:
    """Render, search without training, extract, train, evaluate, search again, and print the next steps."""
    from pipelines.evaluate.command import main as evaluate
    from pipelines.index.command import main as index
    from pipelines.search.command import main as search

    least = _TEST + _VALIDATION + _FEWEST_TRAINING
    if flags.films < least:
        raise ConfigError(f"--films is {flags.films}; {least} at least leave {_FEWEST_TRAINING} to train on")
    data = flags.data or f"data/films-{flags.films}-{flags.seed}"
    out = flags.out or f"runs/demo-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"
    films = f"{data}-videos"
    print(f"1/5 {flags.films} films of coloured shapes are rendered to {films}", flush=True)
    render(Path(films), flags.films, flags.seed, test=_TEST, validation=_VALIDATION)
    print("\n2/5 an index of the films without captions or training, and a search\n", flush=True)
    index([films, "--out", below(out, "found"), "--workers", "0"])
    search([QUERY, "--index", below(out, "found"), "--k", "3"])
    print("\n3/5 features of all films with their captions, and the adapter trained on them\n", flush=True)
    checkpoint = _trained(data, out, films, flags.seed)
    print("\n4/5 retrieval of films that training never saw: untrained, then trained\n", flush=True)
    evaluate(["--encoder", "bundled", "--data", below(data, "test")])
    evaluate([checkpoint, "--data", below(data, "test")])
    print("\n5/5 the same search with the trained adapter\n", flush=True)
    page = below(out, "hits.html")
    index([checkpoint, "--data", below(data, "test"), "--out", below(out, "index")])
    search([QUERY, "--index", below(out, "index"), "--k", "3", "--page", page])
    print(_next_steps(out, checkpoint, page))


def _trained(data: str, out: str, films: str, seed: int) -> str:
    """Extract the films into a data set, where there is none yet, and train; returns the checkpoint."""
    from pipelines.extract.command import main as extract
    from pipelines.train.command import TrainFlags, train
    from vtr_core.config.override import override
    from vtr_core.data.manifest import splits
    from vtr_core.run.presets import preset

    if splits(data):
        print(f"{data} is there already")
    else:
        table = str(Path(films) / TABLE)
        settings = ["--captions", table, "--recipe", "bundled", "--thumbnails", "--workers", "0"]
        extract([films, *settings, "--out", data])
    return train(override(preset(PRESET), {"seed": seed}), TrainFlags(data=data, out=out)).checkpoint


def _next_steps(out: str, checkpoint: str, page: str) -> str:
    return f"""
page of hits    {page}
checkpoint      {checkpoint}
runs            mlflow ui --backend-store-uri sqlite:///mlflow.db

try next        {_activation()}{command_line("serve", "--index", below(out, "index"))}
your own films  vtr index FOLDER --out found
                vtr search "a dog runs in a garden" --index found
with captions   a table, clips.csv, with the columns id, caption, video (the name of a file in FOLDER)
                vtr extract FOLDER --captions clips.csv --recipe bundled \\
                    --splits train .8 val .1 test .1 --out data/mine
                vtr train {PRESET} --data data/mine --out runs/mine
                vtr evaluate runs/mine --data data/mine/test
"""


def _activation() -> str:
    """The shell command that activates the virtual environment; empty where it is active or there is none."""
    if sys.prefix == sys.base_prefix or os.environ.get("VIRTUAL_ENV") == sys.prefix:
        return ""
    return f". {shlex.quote(os.path.relpath(sys.prefix))}/bin/activate\n                "


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("demo")
