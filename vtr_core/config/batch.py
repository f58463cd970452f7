"""Settings of a global batch."""

from vtr_core.config.settings import PositiveInt, Settings


class BatchConfig(Settings):
    """A global batch, whatever the number of workers."""

    videos: PositiveInt = 128
    """Videos in a batch."""
    clips_per_video: PositiveInt = 32
    """Clips sampled per video, or captions where rows are whole videos; with replacement where a video has fewer."""
    candidates: PositiveInt = 1
    """Captions in a clip's bag (mil_nce): its own and the nearest in time of its video."""
    max_frames: PositiveInt = 64
    """Maximum number of frames of a video, from its start, where rows are whole videos; the mean is over all frames."""
    micro_rows: PositiveInt | None = None
    """Rows per forward pass of a worker (gradient caching); None: all rows at once."""
    window: PositiveInt = 4
    """Shuffling window in batches: videos are shuffled within windows, row groups over the whole epoch."""

    @property
    def rows(self) -> int:
        """Clips in a global batch."""
        return self.videos * self.clips_per_video
