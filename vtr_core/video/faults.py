"""Faults of video files, a closed list."""

from enum import StrEnum


class Fault(StrEnum):
    """A fault, as counted in reports."""

    MISSING_FILE = "missing_file"
    """There is no such file."""
    UNREADABLE_FILE = "unreadable_file"
    """The file may not be read, or is a folder."""
    NOT_A_VIDEO = "not_a_video"
    """The file is empty, or of no video format that is read here."""
    NO_VIDEO_STREAM = "no_video_stream"
    """The file has no video stream."""
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


class VideoFault(Exception):
    """A video file cannot be used: the fault, and a message with the file, the finding and what is allowed."""

    def __init__(self, fault: Fault, what: str) -> None:
        super().__init__(fault, what)
        self.fault = fault
        self.what = what

    def __str__(self) -> str:
        return self.what
