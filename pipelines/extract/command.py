"""`vtr extract VIDEOS --captions TABLE --out URI`: video files to Parquet shards with a manifest, by Ray Data."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from pipelines.arguments import parse, print_help, wants_help
from pipelines.ingest.ingest_options import vocabulary_set
from vtr_core.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from vtr_core.data.ingest.ingest import IngestResult
    from vtr_core.data.ingest.plan import IngestPlan, ShardTask
    from vtr_core.data.shards.word_table import WordTable
    from vtr_core.data.sources.source import Drops
    from vtr_core.extraction.features import Chosen
    from vtr_core.extraction.outputs import Extract, Progress
    from vtr_core.extraction.source import VideoFileClips, VideoFileFrames, VideoFiles, VideoFileVideos
    from vtr_core.video.process import Limits


@dataclass(frozen=True)
class ExtractFlags:
    """Flags of `vtr extract`."""

    videos: Annotated[str, tyro.conf.Positional]
    """Folder or URI of video files, quoted glob, list of paths (.txt), or table with a column video."""
    out: str
    """Output folder or URI; with splits, one data set per split is written below it."""
    captions: str | None = None
    """Table with the columns id, caption, video and optionally start, end (seconds), split, video_id; or subtitles, for
    .srt and .vtt files beside the videos; or msrvtt, msrvtt-1k-a, msvd, didemo, activitynet (a paragraph per video),
    youcook2, howto100m, with --annotations."""
    recipe: tuple[str, ...] = ("imagenet-lite", "log-mel")
    """Recipes or pretrained encoders that compute the features, such as bundled or hf:openai/clip-vit-base-patch32;
    tokens:<encoder> keeps all tokens of a frame. vtr encoders lists them."""
    keep_columns: tuple[str, ...] = ()
    """Columns of the table of captions to keep as text, which vtr index lists with every item (--records clips)."""
    annotations: str | None = None
    """Published annotation files of that data set, as for vtr ingest; videos are found by id."""
    weights: dict[str, str] = field(default_factory=dict)
    """Weight files by recipe, for instance: --weights howto-2d resnet152.pth."""
    records: Literal["clips", "videos", "frames"] = "clips"
    """What a row is. clips: a clip and a caption, features pooled over time; videos: a whole video, with all feature
    rows; frames: a clip with its frames, for models that begin with pixels."""
    frame_rate: float = 1.0
    """With --records frames: frames per second."""
    frames: int | None = None
    """With --records frames: maximum number of frames of a clip, evenly spaced (default: all)."""
    frame_size: int = 224
    """With --records frames: width and height in pixels; the centre of the frame is kept."""
    frame_quality: int = 90
    """With --records frames: JPEG quality, from 1 to 100."""
    thumbnails: bool = False
    """Also keep a small image of each clip or video, from its middle, for result and explanation pages."""
    thumbnail_size: int = 192
    """Longer side of a thumbnail in pixels."""
    pool: Literal["max", "mean", "mean_std"] = "mean_std"
    """How the feature rows of a clip are pooled."""
    normalise: bool = True
    """Scale the pooled vector to unit length, but of an encoder's rows; --no-normalise: do not scale it."""
    anywhere: bool = False
    """Allow absolute paths and URIs in tables and lists."""
    features_only: bool = False
    """Write .npy files (<out>/<recipe>/<video>.npy) instead of a data set; needs no captions."""
    splits: dict[str, float] = field(default_factory=dict)
    """Split randomly by video, for instance: --splits train .8 val .1 test .1 (default: the table's splits)."""
    split_seed: int = 0
    """Random seed of the split and of the order of videos."""
    word_vectors: str | None = None
    """word2vec (binary or text) or GloVe file, or BigFile folder (feature.bin, shape.txt, id.txt); without it, word
    vectors are trained with the model."""
    vocabulary: str | None = None
    """Use the vocabulary and word vectors of this data set instead; data sets that are trained on together or are in
    one index have one vocabulary."""
    min_count: int = 1
    """Minimum number of occurrences of a vocabulary word (without --word-vectors)."""
    max_words: int | None = None
    """Captions are cut after this number of words (default: 20, or as many as those of the data set of
    --vocabulary)."""
    videos_per_shard: int | None = None
    """Videos per Parquet file (default: 128, with --records frames 16); an interrupted extraction resumes with the
    unfinished shards."""
    strict: bool = False
    """Fail where a row would be dropped."""
    workers: int | None = None
    """0: in this process, without Ray, on all cores. Otherwise a Ray Data job on the whole cluster."""
    gpus_per_network: float = 1.0
    """GPUs per copy of the backbones, where the cluster has any; 0 computes on CPUs."""
    seconds: float = 300.0
    """A video is dropped if its decoder returns no frame for this many seconds."""
    decoder_bytes: int = 4 * 2**30
    """A video is dropped if decoding it takes more memory than this."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""


def check_ranges(flags: ExtractFlags) -> None:
    """ConfigError for a number out of its range, naming the flag."""
    counts = {
        "--max-words": flags.max_words,
        "--min-count": flags.min_count,
        "--decoder-bytes": flags.decoder_bytes,
        "--videos-per-shard": flags.videos_per_shard,
    }
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ConfigError(f"{name} is {count}; it must be 1 or more")
    if not flags.seconds > 0:
        raise ConfigError(f"--seconds is {flags.seconds:g}; it must be above 0")
    if not flags.gpus_per_network >= 0:
        raise ConfigError(f"--gpus-per-network is {flags.gpus_per_network:g}; it must be 0 (on CPUs) or more")
    if flags.workers is not None and flags.workers < 0:
        raise ConfigError(
            f"--workers is {flags.workers}; give 0 for this process alone, or leave it out for a Ray Data job on the "
            "whole cluster"
        )


def extractor(chosen: "tuple[Chosen, ...]", flags: ExtractFlags) -> "Extract":
    """The extraction function: in this process, or on Ray, to which it connects."""
    from vtr_core.video.process import Limits

    limits = Limits(flags.seconds, flags.decoder_bytes)
    if flags.workers == 0:
        return _here(chosen, limits)
    import ray

    from pipelines.ray_session import connect
    from vtr_core.extraction.on_ray import Resources, extract_on_ray

    connect(worker_logs=flags.worker_logs)
    cluster = ray.cluster_resources()
    share = 0.0 if flags.records == "frames" else flags.gpus_per_network  # JPEGs are made on CPUs
    resources = Resources.of(cluster.get("CPU", 1), cluster.get("GPU", 0), share)
    return partial(extract_on_ray, chosen=chosen, limits=limits, resources=resources)


def _here(chosen: "tuple[Chosen, ...]", limits: "Limits") -> "Extract":
    import torch

    from vtr_core.extraction.outputs import extract_here
    from vtr_core.limits import num_usable

    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return partial(extract_here, chosen=chosen, limits=limits, device=device, at_once=num_usable())


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr extract", ExtractFlags)
        return
    run(parse(ExtractFlags, argv, "vtr extract"))


def run(flags: ExtractFlags) -> None:
    """Extract, and print what was written and dropped."""
    from pipelines.arguments import json_alone, print_json
    from pipelines.ingest.command import report

    if flags.features_only:
        with json_alone(flags.json):
            drops = _features_only(flags)
        if flags.json:
            print_json({"features": flags.out, "dropped": dict(drops.counts)})
        return
    with json_alone(flags.json):
        result = extract(flags)
    report(result, flags.json)


def extract(flags: ExtractFlags) -> "IngestResult":
    """Extract into shards; resumes an interrupted extraction with the same settings."""
    from pipelines.ingest.command import carry_out
    from vtr_core.data.ingest.plan import IngestOptions, plan_ingest
    from vtr_core.storage import check_writable, locate

    check_ranges(flags)
    source = _source(flags)
    words, max_words = _given_words(flags)
    check_writable(locate(flags.out))
    options = IngestOptions(
        splits=flags.splits,
        seed=flags.split_seed,
        max_words=flags.max_words or max_words,
        min_count=flags.min_count,
        videos_per_shard=flags.videos_per_shard or (16 if flags.records == "frames" else 128),
        strict=flags.strict,
    )
    print("extract: listing videos and words", flush=True)
    plan = plan_ingest(source, locate(flags.out), words, options, flags.word_vectors)
    return carry_out(plan, lambda tasks: _run(plan, tasks, source, flags))


def _given_words(flags: ExtractFlags) -> "tuple[WordTable | None, int]":
    """The vocabulary of --vocabulary, and the length of its data set's captions."""
    from vtr_core.data.shards.word_table import WordTable

    if flags.vocabulary is None:
        return None, 20
    if flags.word_vectors is not None or flags.min_count != 1:
        raise ConfigError("--vocabulary takes all words of that data set; leave out --word-vectors and --min-count")
    manifest = vocabulary_set(flags.vocabulary)
    return WordTable.load(manifest), manifest.schema.max_words


def _source(flags: ExtractFlags) -> "VideoFileClips | VideoFileVideos | VideoFileFrames":
    from vtr_core.data.sources.captioned_videos import DATA_SETS, SUBTITLES
    from vtr_core.data.sources.files import FORMATS
    from vtr_core.data.sources.pairs import kept_columns
    from vtr_core.data.sources.video_files import Inventory
    from vtr_core.extraction.pictures import FrameSettings
    from vtr_core.extraction.source import VideoFileClips, VideoFileFrames, VideoFileVideos
    from vtr_core.storage import locate

    chosen = _recipes(flags)
    if flags.captions is None:
        raise ConfigError(
            "--captions is missing: a table with the columns id, caption and video, or the word subtitles; or give "
            "--features-only for .npy files without captions"
        )
    if flags.captions not in (*DATA_SETS, SUBTITLES) and not locate(flags.captions).name.lower().endswith(FORMATS):
        raise ConfigError(
            f"--captions is {flags.captions}; give a table ({', '.join(FORMATS)}), {SUBTITLES}, or with --annotations "
            f"{', '.join(DATA_SETS)}"
        )
    if (flags.captions in DATA_SETS) != (flags.annotations is not None):
        raise ConfigError(f"--annotations goes with --captions {', '.join(DATA_SETS)}, and each of them with it")
    if flags.keep_columns and (flags.records != "clips" or flags.captions in (*DATA_SETS, SUBTITLES)):
        raise ConfigError("--keep-columns keeps columns of a table of --captions, with --records clips; leave it out")
    inventory = Inventory(flags.videos, flags.anywhere)
    size = flags.thumbnail_size if flags.thumbnails else None
    if flags.records == "frames":
        frames = FrameSettings(flags.frame_size, flags.frame_rate, flags.frames, flags.frame_quality)
        return VideoFileFrames(inventory, flags.captions, flags.annotations, (), thumbnail_size=size, frames=frames)
    kind = VideoFileClips if flags.records == "clips" else VideoFileVideos
    columns = kept_columns(flags.keep_columns)
    return kind(inventory, flags.captions, flags.annotations, chosen, flags.pool, flags.normalise, size, columns)


def _recipes(flags: ExtractFlags) -> "tuple[Chosen, ...]":
    """The recipes with their weights; none where frames are stored instead of features."""
    from vtr_core.extraction.features import check_weights, choose

    if flags.records != "frames":
        chosen = choose(flags.recipe, flags.weights)
        check_weights(chosen, flags.weights)
        return chosen
    if flags.recipe != ExtractFlags.recipe or flags.weights:
        raise ConfigError(
            "--records frames keeps pictures and no features: leave out --recipe and --weights, or extract features to "
            "another folder"
        )
    return ()


def _run(plan: "IngestPlan", tasks: "Sequence[ShardTask]", source: "VideoFiles", flags: ExtractFlags) -> None:
    from vtr_core.extraction.outputs import write_shards

    if not tasks:
        return
    if len(tasks) < len(plan.tasks):
        print(f"  {len(plan.tasks) - len(tasks)} of {len(plan.tasks)} shards were written before", flush=True)
    count = sum(len(task.videos) for task in tasks)
    follow(write_shards(plan, tasks, extractor(source.requested, flags)), count)


def follow(steps: "Iterator[Progress]", count: int) -> None:
    """Do the work of `steps` on so many videos, tell how far it is, and whose times a person should look at."""
    from pipelines.progress import Meter

    begun = time.monotonic()
    last: Progress | None = None
    with Meter(count, "videos") as meter:
        for last in steps:
            meter.tell(last.videos, _speed(last, time.monotonic() - begun))
    if last is not None and last.remarks:
        print("\n  ".join([f"videos with times to look at: {last.remarks}, for instance", *last.examples]))


def _speed(progress: "Progress", elapsed_s: float) -> str:
    """Speed relative to playback, and dropped videos."""
    times = progress.seconds / max(elapsed_s, 1e-9)
    speed = f"{times:.{0 if times >= 10 else 1}f} times as fast as they play"
    return f"{speed}; {progress.dropped} dropped" if progress.dropped else speed


def _features_only(flags: ExtractFlags) -> "Drops":
    """Write the missing .npy files, also of an interrupted extraction, and print what was dropped."""
    from vtr_core.data.sources.captioned_videos import drop_left_out
    from vtr_core.data.sources.source import Drops
    from vtr_core.data.sources.video_files import Inventory
    from vtr_core.extraction.outputs import NpyFolder, write_features
    from vtr_core.storage import check_writable, locate

    if flags.thumbnails or flags.records == "frames":
        raise ConfigError("--features-only writes .npy files alone: leave out --thumbnails and --records")
    check_ranges(flags)
    chosen = _recipes(flags)
    inventory = Inventory(flags.videos, flags.anywhere)
    files, drops = inventory.files, Drops(flags.strict)
    check_writable(locate(flags.out))
    drop_left_out(inventory, drops)
    follow(write_features(NpyFolder(locate(flags.out), chosen), files, extractor(chosen, flags), drops), len(files))
    names = ", ".join(choice.recipe.name for choice in chosen)
    written = len(files) + len(inventory.left_out) - drops.counts.total()
    print(f"{flags.out}: .npy files of {written} videos by {names}")
    for reason, count in sorted(drops.counts.items()):
        print(f"dropped {count} × {reason}, for instance {drops.examples[reason][0]}")
    if files and not written:
        raise DatasetError(f"{flags.videos} gives no usable video: all {len(files)} were dropped")
    return drops
