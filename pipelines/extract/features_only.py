"""`vtr extract --features-only`: feature files of all videos, without a data set."""

from pipelines.extract.extractor import extractor
from pipelines.extract.flags import ExtractFlags
from pipelines.extract.ranges import check_ranges
from pipelines.progress import Meter
from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.videos.inventory import Inventory
from vtr_core.errors import ConfigError
from vtr_core.extraction.chosen import check_weights, choose
from vtr_core.extraction.npy_files import NpyFolder, write_features
from vtr_core.storage import check_writable, locate
from vtr_core.video.decoders import chosen_decoder


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
