"""`vtr extract --features-only`: feature files of all videos, without a data set; the remark of its progress."""

from pipelines.extract.command import ExtractFlags, check_ranges, extractor
from pipelines.progress import Meter
from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.video_files import Inventory
from vtr_core.errors import ConfigError
from vtr_core.extraction.networks import check_weights, choose
from vtr_core.extraction.outputs import NpyFolder, Progress, write_features
from vtr_core.storage import check_writable, locate
from vtr_core.video.decoders import chosen_decoder


def remark(progress: Progress, elapsed_s: float) -> str:
    """Speed relative to playback, and dropped videos."""
    times = progress.seconds / max(elapsed_s, 1e-9)
    speed = f"{times:.{0 if times >= 10 else 1}f} times as fast as they play"
    return f"{speed}; {progress.dropped} dropped" if progress.dropped else speed


def features_only(flags: ExtractFlags) -> Drops:
    """Write the missing files, also of an interrupted extraction, and print what was dropped."""
    if flags.thumbnails or flags.records == "frames":
        raise ConfigError("--features-only writes .npy files alone: leave out --thumbnails and --records")
    check_ranges(flags)
    decoder, why = chosen_decoder(flags.decoder)
    print(f"extract: {why}", flush=True)
    chosen = choose(flags.recipe, flags.weights, decoder, flags.remote_code)
    check_weights(chosen, flags.weights)
    files = Inventory(flags.videos, flags.anywhere).files
    check_writable(locate(flags.out))
    drops = Drops(flags.strict)
    with Meter(len(files), "videos") as meter:
        for done in write_features(NpyFolder(locate(flags.out), chosen), files, extractor(chosen, flags), drops):
            meter.tell(done)
    names = ", ".join(one.recipe.name for one in chosen)
    print(f"{flags.out}: .npy files of {len(files) - sum(drops.counts.values())} videos by {names}")
    for reason, count in sorted(drops.counts.items()):
        print(f"dropped {count} × {reason}, for instance {drops.examples[reason][0]}")
    return drops
