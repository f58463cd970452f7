"""`vtr caption CHECKPOINT --data URI --out FOLDER`: captions of videos as JSON lines, and a page of examples."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from pipelines.arguments import check_counts, json_alone, parse, print_help, print_json, wants_help
from pipelines.systems.registry import SYSTEMS
from vtr_core.storage.location import below

if TYPE_CHECKING:
    from vtr_core.systems.loaded_model import CaptionedVideos


LINES, PAGE = "captions.jsonl", "captions.html"
DECODING = ("beams", "length_penalty")
"""Flags that change how a trained captioner decodes; None leaves a setting as in training."""


@dataclass(frozen=True)
class CaptionFlags:
    """Flags of `vtr caption`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: str
    """Data set of whole videos; captions are not needed."""
    out: str
    """Output folder of captions.jsonl and captions.html; existing files are replaced."""
    beams: int | None = None
    """Beam size; 1 is greedy decoding (default: as in training)."""
    length_penalty: float | None = None
    """Length penalty α: hypotheses are compared by log p / length^α (default: as in training)."""
    examples: int = 50
    """Videos on the page, evenly spaced from the best caption to the worst, or over the data set without references."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr caption", CaptionFlags)
        return
    flags = parse(CaptionFlags, argv, "vtr caption")
    with json_alone(flags.json):
        videos = caption(flags)
    if flags.json:
        print_json(
            {"captions": below(flags.out, LINES), "page": below(flags.out, PAGE), "videos": len(videos.hypotheses)}
        )


def caption(flags: CaptionFlags) -> "CaptionedVideos":
    """Caption every video, write both files, and return the captions."""
    from pipelines.evaluate.evaluation_flags import device
    from pipelines.report.figures import print_link
    from vtr_core import storage
    from vtr_core.storage import check_writable, locate
    from vtr_core.systems.loaded_model import lacking
    from vtr_core.train.checkpoint.trained_model import read_model

    check_counts("vtr caption", examples=flags.examples)
    folder = locate(flags.out)
    check_writable(folder)
    loaded = read_model(flags.checkpoint, SYSTEMS, device())
    describe = loaded.config.model.system().implementation().describe
    if describe is None:
        raise lacking(loaded, "vtr caption", lambda system: system.implementation().describe is not None)
    changes = {name: value for name in DECODING if (value := getattr(flags, name)) is not None}
    descriptions = describe(loaded, flags.data, changes, flags.examples)
    videos = descriptions.videos
    storage.write_bytes(folder / LINES, _lines(videos).encode())
    storage.write_bytes(folder / PAGE, descriptions.page.encode())
    counts = f"{LINES} ({len(videos.hypotheses)} captions), {PAGE} ({descriptions.num_shown} examples)"
    print(f"written     {folder.uri}: {counts}")
    print_link(folder / PAGE)
    return videos


def _lines(videos: "CaptionedVideos") -> str:
    """JSON lines, one per video, in file order."""
    rows = (
        {
            "video_id": name,
            "caption": text,
            "has_frames": videos.has_frames[name],
            "references": videos.references[name],
        }
        for name, text in videos.hypotheses.items()
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("caption")
