"""`vtr index VIDEOS --out URI`, and `vtr index CHECKPOINT --data URI --out URI`: what `vtr search` searches."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import tyro

from pipelines.arguments import json_alone, parse, print_help, print_json, wants_help, with_joined_data


@dataclass(frozen=True)
class IndexFlags:
    """Flags of `vtr index`."""

    checkpoint: Annotated[str | None, tyro.conf.Positional] = None
    """VIDEOS: a folder or URI of video files, quoted glob, list of paths (.txt), or table with a column video; no
    captions are needed. With --data or --embeddings instead a checkpoint folder, run folder (its best checkpoint is
    used), or registered model, models:/NAME@ALIAS (default: that of --embeddings, or --encoder)."""
    data: str | None = None
    """Data set: whole videos for dual encoders and MUSE, clips for other models; --data A B indexes several
    (default: that of --embeddings)."""
    out: str | None = None
    """Output folder or URI; an existing index is replaced by a new revision. VIDEOS: files that it has already, of the
    same size and time of change, are not encoded again, and those that are gone are dropped."""
    embeddings: str | None = None
    """The data set's embeddings by vtr embed, which are read instead of computed."""
    backend: Literal["exact", "ivf-pq"] = "exact"
    """ivf-pq: also find candidates by approximate search, which are compared exactly; needs the extra faiss: make
    install EXTRAS=faiss."""
    shards: int | None = None
    """Parts of the index, with files of their own; models with one joint space (default: one of each million rows)."""
    add: bool = False
    """Add the items to the index at --out instead of replacing it; items with the same ids are replaced. VIDEOS: also
    keep the files that are not among these."""
    delete: tuple[str, ...] = ()
    """Delete the items, or all clips of the videos, with these ids from the index at --out; nothing is embedded."""
    encoder: str | None = None
    """Pretrained encoder of text and frames, see vtr encoders, or the run folder of an adapter or another model trained
    on features of vtr extract (default: bundled, or the encoder that the index at --out has)."""
    window: float | None = None
    """VIDEOS: length of a hit in seconds; each video is cut into equal parts near it (default: 5, or as the index has
    it)."""
    workers: int | None = None
    """VIDEOS: 0 encodes in this process, without Ray; another number, or more than 1000 new files, is a Ray Data job on
    the whole cluster."""
    anywhere: bool = False
    """VIDEOS: allow absolute paths and URIs in tables and lists."""
    thumbnails: bool = True
    """VIDEOS: keep a small picture of each hit for pages; --no-thumbnails: keep none."""
    weights: dict[str, str] = field(default_factory=dict)
    """VIDEOS: weight files by recipe, for a model that was trained on features of such a recipe."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr index", IndexFlags)
        return
    flags = parse(IndexFlags, with_joined_data(argv), "vtr index")
    from pipelines.index.indexing import index

    with json_alone(flags.json):
        record = index(flags)
    if flags.json:
        print_json({"uri": flags.out, **record.to_json()})
