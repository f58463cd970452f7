"""Opening of video files for decoding, from any storage, restricted to single-file formats."""

from collections.abc import Iterator
from contextlib import contextmanager

import av
import av.error
import pyarrow as pa
from av.container import InputContainer

from vtr_core.errors import VtrError
from vtr_core.storage import Location, StorageError, locate
from vtr_core.video.faults import Fault, VideoFault

FORMATS = (
    *("mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "avi", "mpegts", "mpeg", "mpegvideo", "flv", "asf", "ogg", "gif"),
    *("mxf", "nut", "dv", "ivf", "rm", "wtv", "yuv4mpegpipe", "h264", "hevc", "obu"),
)
"""FFmpeg's names of the accepted formats. Playlists (HLS, DASH, concat) are excluded: they can open any file or URL."""

_AWAY = ("cannot be reached", "goes on failing")
DECODER_FAULTS = (av.error.FFmpegError, ValueError, OverflowError, ArithmeticError, EOFError, OSError)
"""The exceptions of PyAV for content that cannot be decoded."""


def located(uri: str) -> Location:
    """The location of a video's URI; VideoFault for an unsupported scheme or a malformed URI."""
    try:
        return locate(uri)
    except VtrError as error:
        raise VideoFault(Fault.UNREADABLE_FILE, str(error)) from error


def size_of(uri: str) -> int:
    """Bytes of the file at `uri`; 0 where it is missing or unreadable."""
    try:
        location = located(uri)
        return location.filesystem.get_file_info(location.path).size or 0
    except (VideoFault, StorageError, OSError):
        return 0


@contextmanager
def opened(location: Location) -> Iterator[InputContainer]:
    """The file's container; VideoFault where the file is missing, unreadable or no video.

    An unreachable or overloaded store is no fault of the file and remains a StorageError.

    The format is detected from the content, never from the name. Bytes are read through `location`'s file system, so
    that neither name nor content can make the decoder open anything else.
    """
    try:
        source = location.filesystem.open_input_file(location.path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise VideoFault(Fault.MISSING_FILE, f"there is no file {location}") from error
    except (OSError, StorageError) as error:
        if _is_of_the_store(error):
            raise
        raise VideoFault(Fault.UNREADABLE_FILE, f"{location} cannot be read ({error})") from error
    with source, _container(source, location) as container:
        yield container


def _is_of_the_store(error: OSError | StorageError) -> bool:
    """Whether the error is the store's, so that a retry may succeed; recognised by its message alone."""
    return isinstance(error, StorageError) and any(words in str(error) for words in _AWAY)


def _container(source: pa.NativeFile, location: Location) -> InputContainer:
    if source.size() == 0:
        raise VideoFault(Fault.NOT_A_VIDEO, f"{location} is empty; give a video file")
    try:
        options = {"format_whitelist": ",".join(FORMATS)}
        return av.open(source, mode="r", options=options, metadata_errors="replace")
    except DECODER_FAULTS as error:
        what = f"{location} is no video of a format that is read ({said_by(error)})"
        raise VideoFault(Fault.NOT_A_VIDEO, what) from error


def said_by(error: Exception) -> str:
    """What is wrong in FFmpeg's words, without the number and the stream's name that PyAV writes around them."""
    return (isinstance(error, av.error.FFmpegError) and error.strerror) or str(error)
