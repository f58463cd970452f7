"""Inputs that cannot be used, a row, a file or a video: the closed list of reasons, and the error with one of them."""

from enum import StrEnum


class Reason(StrEnum):
    """A reason, as counted in the manifest."""

    MISSING_FILE = "missing_file"
    UNREADABLE_FILE = "unreadable_file"
    """The file is truncated, is of another format, or may not be read."""
    NOT_NUMERIC = "not_numeric"
    """The array holds neither floats nor integers."""
    WRONG_RANK = "wrong_rank"
    """The array has no axis, or more axes than (time, dim)."""
    WRONG_DIMENSION = "wrong_dimension"
    """The array has no rows, or gives another number of values than the column holds."""
    NOT_FINITE = "not_finite"
    """The values are NaN, infinite, or beyond the range of float16, above or below."""
    OUTSIDE_FEATURES = "outside_features"
    """The clip's time span lies after the last row of the features."""
    STREAMS_DISAGREE = "streams_disagree"
    """The streams of the video last unequally long, so that the rate of one of them is wrong."""
    NO_FRAMES = "no_frames"
    WRONG_COUNT = "wrong_count"
    """There are more or fewer vectors of captions than captions."""
    NO_FEATURES = "no_features"
    EMPTY_CAPTION = "empty_caption"
    BAD_TIME = "bad_time"
    """A start or end is not a finite number of seconds from 0 on."""
    END_BEFORE_START = "end_before_start"
    DUPLICATE_ID = "duplicate_id"
    """The same row again, or the same id for something else."""
    UNSAFE_ID = "unsafe_id"
    """The id or path could lead out of its folder, or cannot be a file name."""
    UNKNOWN_VIDEO = "unknown_video"
    """The annotations name a video that they do not list."""
    UNKNOWN_STEP = "unknown_step"
    """The annotations name a step, or a task, that the data set's lists do not have."""
    BAD_LINE = "bad_line"
    NO_STEPS = "no_steps"
    """The video's annotation has no usable step."""
    SPLIT_CONFLICT = "split_conflict"
    NO_SOUND = "no_sound"
    """The video file has no sound, and only audio features are requested."""
    NOT_A_VIDEO = "not_a_video"
    """The file is empty, or of no video format that is read."""
    NO_VIDEO_STREAM = "no_video_stream"
    DAMAGED_VIDEO = "damaged_video"
    """The decoder cannot decode the file's content."""
    TRUNCATED_VIDEO = "truncated_video"
    """The file ends long before its stated duration."""
    BAD_FRAME_TIMES = "bad_frame_times"
    """The frame times have an implausibly large gap."""
    DECODING_TOO_SLOW = "decoding_too_slow"
    """The decoder returned nothing for longer than the limit."""
    DECODING_TOO_LARGE = "decoding_too_large"
    """The decoder needed more memory than the limit."""
    DECODER_DIED = "decoder_died"
    """The decoding process crashed."""


class UnusableError(Exception):
    """An unusable input: the reason, and a message with the input, the fault and what is allowed."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(reason, message)  # so that it can be pickled
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[1])
