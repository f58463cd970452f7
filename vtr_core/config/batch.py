"""Settings of a global batch."""

from vtr_core.config.settings import PositiveInt, Settings


class BatchConfig(Settings):
    """A global batch, whatever the number of workers."""

    videos: PositiveInt = 128
    """Videos in a batch."""
    clips_per_video: PositiveInt = 32
    """Clips sampled of each video, or captions where rows are whole videos; with replacement where it has fewer."""
    candidates: PositiveInt = 1
    """Captions in a clip's bag, its own and the nearest in time of its video, for losses over bags (mil_nce)."""
    max_frames: PositiveInt = 64
    """Frames kept of a video, the first ones, where rows are whole videos; their mean is of all frames all the same."""
    micro_rows: PositiveInt | None = None
    """Rows that a worker takes through the model at once; the rest of its part waits (gradient caching)."""
    window: PositiveInt = 4
    """Videos are shuffled within windows of this many batches, windows and row groups over the whole epoch."""

    @property
    def rows(self) -> int:
        """Clips in a global batch."""
        return self.videos * self.clips_per_video
