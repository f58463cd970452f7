"""A decoder that hangs, dies or takes all memory costs its own video alone."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.builders.small_videos import grey_video
from vtr_core.storage import locate
from vtr_core.video.decoders import Fault, VideoFault
from vtr_core.video.decoding import decode
from vtr_core.video.encoding import Codec
from vtr_core.video.process import Decoding, DecodingProcess, Limits
from vtr_core.video.streams import Chunk, Picture, PictureStream, Rate, SoundStream

STREAMS = (PictureStream(Picture(32, 32), Rate(5.0), chunk=2), SoundStream())


@pytest.fixture
def video(tmp_path: Path) -> str:
    return str(grey_video(tmp_path / "v.mp4", [k / 5 for k in range(10)], sound_s=2.0))


def test_it_gives_what_decoding_gives_again_and_again(video: str) -> None:
    expected = list(decode(locate(video), STREAMS))
    with DecodingProcess(Decoding()) as process:
        for _ in range(2):
            found = list(process.decode(video, STREAMS))
            assert found[-1] == expected[-1]
            for one, other in zip(found[:-1], expected[:-1], strict=True):
                assert isinstance(one, Chunk)
                assert isinstance(other, Chunk)
                assert (one.stream, one.index) == (other.stream, other.index)
                assert np.array_equal(one.values, other.values)


def test_a_fault_of_a_video_is_raised_here_and_the_process_goes_on(video: str, tmp_path: Path) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    with DecodingProcess(Decoding()) as process:
        with pytest.raises(VideoFault) as raised:
            list(process.decode(str(tmp_path / "bad.mp4"), STREAMS))
        assert raised.value.fault == Fault.NOT_A_VIDEO
        child = process.pid
        assert list(process.decode(video, STREAMS))
        assert process.pid == child


def test_a_hanging_decoder_is_ended(video: str, tmp_path: Path) -> None:
    """A pipe that nobody writes to: opening it never returns."""
    os.mkfifo(tmp_path / "pipe.mp4")
    with DecodingProcess(Decoding(Limits(silent_s=3))) as process:
        with pytest.raises(VideoFault) as raised:
            list(process.decode(str(tmp_path / "pipe.mp4"), STREAMS))
        assert raised.value.fault == Fault.DECODING_TOO_SLOW
        assert process.pid is None


def test_a_decoder_that_dies_is_replaced(video: str) -> None:
    with DecodingProcess(Decoding()) as process:
        parts = process.decode(video, STREAMS)
        next(parts)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(VideoFault) as raised:
            list(parts)
        assert raised.value.fault == Fault.DECODER_DIED
        assert list(process.decode(video, STREAMS))


@pytest.mark.linux
def test_memory_is_limited(tmp_path: Path) -> None:
    path = grey_video(tmp_path / "v.mkv", [0.0], (4096, 4096), codec=Codec("ffv1"))
    with DecodingProcess(Decoding(Limits(max_bytes=40 * 2**20))) as process:
        with pytest.raises(VideoFault) as raised:
            list(process.decode(str(path), STREAMS))
        assert raised.value.fault in (Fault.DECODING_TOO_LARGE, Fault.DECODER_DIED)


def test_a_video_that_is_left_off_leaves_no_process_behind(video: str) -> None:
    with DecodingProcess(Decoding()) as process:
        parts = process.decode(video, STREAMS)
        next(parts)
        parts.close()
        assert process.pid is None
