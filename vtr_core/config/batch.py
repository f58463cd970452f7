"""What one global batch holds."""

from typing import Literal

from vtr_core.config.settings import PositiveInt, Settings


class BatchConfig(Settings):
    """What one global batch holds, whatever the number of workers."""

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

    captions: Literal["drawn", "every"] = "drawn"
    """Where rows are whole videos: `drawn`, anew in every epoch, so that 20 epochs see 64 % of 20 captions; `every`, in
    turn over the epochs, so that as many epochs as a video has captions see each of them once, as a published epoch
    does."""
    remainder: Literal["dropped", "filled"] = "dropped"
    """What becomes of the videos at an epoch's end that make no full batch: they wait for the next epoch, or the
    epoch's first videos fill their batch."""

    @property
    def rows(self) -> int:
        """Clips in a global batch."""
        return self.videos * self.clips_per_video
