"""The flags of `vtr extract`."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class ExtractFlags:
    """What every extraction takes."""

    videos: Annotated[str, tyro.conf.Positional]
    """A folder or URI of video files, a glob in quotes, a list of paths (.txt), or a table with a column video."""
    out: str
    """Folder or URI of the data set; with splits, one data set is written below it for each."""
    captions: str | None = None
    """A table with the columns id, caption, video and optionally start, end (seconds), split, video_id; or subtitles:
    the .srt and .vtt files beside the videos; or msrvtt, msrvtt-1k-a, youcook2, howto100m, with --annotations."""
    recipe: tuple[str, ...] = ("imagenet-lite", "log-mel")
    """What sees and hears; vtr extract --list tells of each."""
    annotations: str | None = None
    """The published annotation files of that data set, as vtr ingest takes them; videos are found by their ids."""
    weights: dict[str, str] = field(default_factory=dict)
    """Files of weights by recipe, for instance: --weights howto-2d resnet152.pth."""
    records: Literal["clips", "videos", "frames"] = "clips"
    """clips: a row per clip and caption, pooled; videos: a row per video, with all rows of its features; frames: a row
    per clip with its pictures, for models that begin with pixels."""
    frame_rate: float = 1.0
    """With frames: pictures a second."""
    frames: int | None = None
    """With frames: pictures of a clip at most, in equal steps from the first to the last (default: all)."""
    frame_size: int = 224
    """With frames: pixels of a side; the middle of the picture is kept."""
    frame_format: Literal["jpeg", "raw"] = "jpeg"
    """With frames: JPEG files, or raw pixels, which need about ten times the room and no decoding."""
    frame_quality: int = 90
    """With frames: of JPEG, from 1 to 100."""
    thumbnails: bool = False
    """Also keep a small picture of each clip or video, from its middle, for pages of hits and explanations."""
    thumbnail_size: int = 192
    """Pixels of a thumbnail's long side."""
    pool: Literal["max", "mean", "mean_std"] = "mean_std"
    """How the rows of a clip become one vector."""
    normalise: bool = True
    """Whether that vector is brought to length 1."""
    anywhere: bool = False
    """Allow absolute paths and URIs in tables and lists."""
    features_only: bool = False
    """Write .npy files (<out>/<recipe>/<video>.npy) of all videos and no data set; captions are not needed."""
    keep_features: str | None = None
    """Also write .npy files of whole videos to this folder or URI."""
    splits: dict[str, float] = field(default_factory=dict)
    """Split by video into these shares, for instance: --splits train .8 val .1 test .1 (default: the table's own)."""
    split_seed: int = 0
    """Seed of that split and of the order of videos."""
    word_vectors: str | None = None
    """word2vec (binary or text) or GloVe file; without one, vectors are learned in training."""
    min_count: int = 1
    """Occurrences that a word needs (without a word-vector file)."""
    max_words: int = 20
    """Words kept of a caption."""
    videos_per_shard: int | None = None
    """Videos in a Parquet file: 128, of frames 16; an interrupted extraction goes on with those not complete."""
    strict: bool = False
    """Make anything that would be dropped an error."""
    workers: int | None = None
    """0: in this process, without Ray, on all cores. Otherwise a Ray Data job on all that the cluster has."""
    gpus_per_network: float = 1.0
    """Share of a GPU that each copy of the networks takes, where there are any; 0 takes none."""
    seconds: float = 300.0
    """A video whose decoder gives nothing for so long is dropped."""
    decoder_bytes: int = 4 * 2**30
    """Memory that a decoder may take for one video; one that wants more is dropped."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""
