"""Settings of a global batch."""

from typing import Literal

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
