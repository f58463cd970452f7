"""Numbers among the flags of `vtr extract` that can only be wrong, before anything is listed or started."""

from pipelines.extract.flags import ExtractFlags
from vtr_core.errors import ConfigError


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
