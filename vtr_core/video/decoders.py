"""Which library decodes pictures, PyAV or torchcodec, and the closed list of faults of video files."""

from enum import StrEnum
from typing import Literal

from vtr_core.errors import ConfigError

Decoder = Literal["pyav", "torchcodec"]
AskedDecoder = Literal["auto", "pyav", "torchcodec"]


def torchcodec_fault() -> str | None:
    """Why torchcodec cannot be used here; None where it can. It needs the torch that it was built for, and FFmpeg."""
    try:
        from torchcodec.decoders import VideoDecoder  # noqa: F401
    except (ImportError, OSError, RuntimeError) as error:
        return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return None


def chosen_decoder(asked: AskedDecoder) -> tuple[Decoder, str]:
    """The decoder for `asked`, and the reason in words: auto is torchcodec where it loads, and PyAV elsewhere.

    Raises ConfigError where torchcodec is requested and cannot be loaded.
    """
    fault = None if asked == "pyav" else torchcodec_fault()
    if asked == "pyav" or (asked == "auto" and fault is not None):
        return "pyav", "PyAV decodes" + (f"; torchcodec cannot be used here ({fault})" if fault else "")
    if fault is not None:
        raise ConfigError(
            f"--decoder torchcodec cannot be used here ({fault}); install the torchcodec of this torch and FFmpeg's "
            "libraries, or give --decoder pyav"
        )
    return "torchcodec", "torchcodec decodes"


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
