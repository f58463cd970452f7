"""`vtr extract VIDEOS --captions TABLE --out URI`: video files to Parquet shards with a manifest, as a Ray Data job."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipelines.arguments import parse, print_help, wants_help
from pipelines.extract.extractor import extractor
from pipelines.extract.flags import ExtractFlags
from pipelines.extract.ranges import check_ranges
from pipelines.ingest.vocabulary import caption_length, words_of_data_set
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.ingest.ingest import IngestResult
    from vtr_core.data.ingest.plan import IngestPlan, ShardTask
    from vtr_core.data.shards.word_table import WordTable
    from vtr_core.extraction.chosen import Chosen
    from vtr_core.extraction.frame_source import VideoFileFrames
    from vtr_core.extraction.source import VideoFileClips, VideoFiles, VideoFileVideos
    from vtr_core.video.decoders import Decoder


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if "--list" in argv:
        from pipelines.extract.listing import print_recipes

        print_recipes()
        return
    if not argv or wants_help(argv):
        print_help("vtr extract", ExtractFlags)
        return
    run(parse(ExtractFlags, argv, "vtr extract"))


def run(flags: ExtractFlags) -> None:
    """Extract, and print what was written and dropped."""
    from pipelines.ingest.report import report
    from pipelines.report.json_result import json_alone, print_json

    if flags.features_only:
        from pipelines.extract.features_only import features_only

        with json_alone(flags.json):
            drops = features_only(flags)
        if flags.json:
            print_json({"features": flags.out, "dropped": dict(drops.counts)})
        return
    with json_alone(flags.json):
        result = extract(flags)
    report(result, flags.json)


def extract(flags: ExtractFlags) -> "IngestResult":
    """Extract into shards; resumes an interrupted extraction with the same settings."""
    from pipelines.ingest.report import tell_complete, tell_empty_splits
    from vtr_core.data.ingest.ingest import abandon, claim, finish, finished, is_complete, unfinished
    from vtr_core.data.ingest.plan import IngestOptions, plan_ingest
    from vtr_core.storage import check_writable, locate
    from vtr_core.video.decoders import chosen_decoder

    check_ranges(flags)
    decoder, why = chosen_decoder(flags.decoder)
    source = _source(flags, decoder)
    words = _given_words(flags)
    check_writable(locate(flags.out))
    options = IngestOptions(
        splits=flags.splits,
        seed=flags.split_seed,
        max_words=flags.max_words or caption_length(flags.vocabulary) or 20,
        min_count=flags.min_count,
        videos_per_shard=flags.videos_per_shard or (16 if flags.records == "frames" else 128),
        strict=flags.strict,
    )
    print(f"extract: listing videos and words; {why}", flush=True)
    plan = plan_ingest(source, locate(flags.out), words, options, flags.word_vectors)
    tell_empty_splits(plan)
    if is_complete(plan):
        tell_complete()
        return finished(plan)
    is_new = claim(plan)
    try:
        _run(plan, unfinished(plan), source, flags)
        return finish(plan)
    except Exception:
        if is_new:
            abandon(plan)
        raise


def _given_words(flags: ExtractFlags) -> "WordTable | None":
    """The vocabulary of --vocabulary."""
    if flags.vocabulary is None:
        return None
    if flags.word_vectors is not None or flags.min_count != 1:
        raise ConfigError("--vocabulary takes all words of that data set; leave out --word-vectors and --min-count")
    return words_of_data_set(flags.vocabulary)


def _source(flags: ExtractFlags, decoder: "Decoder") -> "VideoFileClips | VideoFileVideos | VideoFileFrames":
    from vtr_core.data.sources.files.tables import FORMATS
    from vtr_core.data.sources.pairs.rows import kept_columns
    from vtr_core.data.sources.videos.annotated import DATA_SETS
    from vtr_core.data.sources.videos.captioned import SUBTITLES
    from vtr_core.data.sources.videos.inventory import Inventory
    from vtr_core.extraction.frame_source import VideoFileFrames
    from vtr_core.extraction.pictures import FrameSettings
    from vtr_core.extraction.source import VideoFileClips, VideoFileVideos
    from vtr_core.storage import locate

    chosen = _recipes(flags, decoder)
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
        shown = FrameSettings(
            flags.frame_size, flags.frame_rate, flags.frames, flags.frame_format, flags.frame_quality, decoder
        )
        return VideoFileFrames(inventory, flags.captions, flags.annotations, (), thumbnail_size=size, frames=shown)
    kind = VideoFileClips if flags.records == "clips" else VideoFileVideos
    kept = kept_columns(flags.keep_columns)
    return kind(inventory, flags.captions, flags.annotations, chosen, flags.pool, flags.normalise, size, kept)


def _recipes(flags: ExtractFlags, decoder: "Decoder") -> "tuple[Chosen, ...]":
    """The recipes with their weights; none where frames are stored instead of features."""
    from vtr_core.extraction.chosen import check_weights, choose

    if flags.records != "frames":
        chosen = choose(flags.recipe, flags.weights, decoder, flags.remote_code)
        check_weights(chosen, flags.weights)
        return chosen
    if flags.recipe != ExtractFlags.recipe or flags.weights or flags.keep_features is not None:
        raise ConfigError(
            "--records frames keeps pictures and no features: leave out --recipe, --weights and --keep-features, or "
            "extract features to another folder"
        )
    return ()


def _run(plan: "IngestPlan", tasks: "Sequence[ShardTask]", source: "VideoFiles", flags: ExtractFlags) -> None:
    from pipelines.extract.progress import remark
    from pipelines.progress import Meter
    from vtr_core.extraction.npy_files import NpyFolder
    from vtr_core.extraction.shards import write_shards
    from vtr_core.storage import locate

    if not tasks:
        return
    if len(tasks) < len(plan.tasks):
        print(f"  {len(plan.tasks) - len(tasks)} of {len(plan.tasks)} shards were written before", flush=True)
    keep = None
    if flags.keep_features is not None:
        folder = NpyFolder(locate(flags.keep_features), source.chosen)
        folder.claim()
        keep = folder.write
    begun = time.monotonic()
    with Meter(sum(len(task.videos) for task in tasks), "videos") as meter:
        for progress in write_shards(plan, tasks, extractor(source.asked, flags), keep):
            meter.tell(progress.videos, remark(progress, time.monotonic() - begun))
