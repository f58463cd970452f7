"""A decoder that hangs, dies or takes all memory costs its own video alone."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.builders.small_videos import grey_video
from vtr_core.storage import locate
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.decoding import decode
from vtr_core.video.process import DecoderError, DecodingProcess, Limits
from vtr_core.video.streams import Chunk, Codec, Picture, PictureStream, Rate, SoundStream

STREAMS = (PictureStream(Picture(32, 32), Rate(5.0), chunk=2), SoundStream())


@pytest.fixture
def video(tmp_path: Path) -> str:
    return str(grey_video(tmp_path / "v.mp4", [k / 5 for k in range(10)], sound_s=2.0))


def test_it_gives_what_decoding_gives_again_and_again(video: str) -> None:
    expected = list(decode(locate(video), STREAMS))
    with DecodingProcess(Limits()) as process:
        for _ in range(2):
            parts = list(process.decode(video, STREAMS))
            assert parts[-1] == expected[-1]
            for chunk, whole in zip(parts[:-1], expected[:-1], strict=True):
                assert isinstance(chunk, Chunk)
                assert isinstance(whole, Chunk)
                assert (chunk.stream, chunk.index) == (whole.stream, whole.index)
                assert np.array_equal(chunk.values, whole.values)


def test_a_fault_of_a_video_is_raised_here_and_the_process_goes_on(video: str, tmp_path: Path) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    with DecodingProcess(Limits()) as process:
        with pytest.raises(UnusableError) as raised:
            list(process.decode(str(tmp_path / "bad.mp4"), STREAMS))
        assert raised.value.reason == Reason.NOT_A_VIDEO
        child = process.pid
        assert list(process.decode(video, STREAMS))
        assert process.pid == child


def test_a_hanging_decoder_is_ended(video: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was stopped says nothing more."""
    with DecodingProcess(Limits()) as process:
        assert list(process.decode(video, STREAMS))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        monkeypatch.setattr(process, "_limits", Limits(silent_s=0.3))
        with pytest.raises(UnusableError) as raised:
            list(process.decode(video, STREAMS))
        assert raised.value.reason == Reason.DECODING_TOO_SLOW
        assert process.pid is None


def test_a_decoder_that_dies_is_replaced(video: str) -> None:
    with DecodingProcess(Limits()) as process:
        parts = process.decode(video, STREAMS)
        next(parts)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(UnusableError) as raised:
            list(parts)
        assert raised.value.reason == Reason.DECODER_DIED
        assert str(raised.value) == f"{video}: the decoder ended its process (SIGKILL)"
        assert list(process.decode(video, STREAMS))


@pytest.mark.parametrize("name", ["queue", "av"])
def test_files_of_the_working_directory_replace_no_module(
    name: str, video: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # as that of `python -m` and of Ray's workers
    with DecodingProcess(Limits()) as process:
        assert list(process.decode(video, STREAMS))


def test_a_decoder_that_does_not_begin_says_why(video: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no fault of the video, which is not dropped for it."""
    (tmp_path / "av.py").write_text("raise RuntimeError('no such codec library')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with DecodingProcess(Limits()) as process:
        with pytest.raises(DecoderError, match=r"started on this machine \(exit code 1: .*no such codec library\)$"):
            list(process.decode(video, STREAMS))
        monkeypatch.undo()
        assert list(process.decode(video, STREAMS))


@pytest.mark.linux
def test_memory_is_limited(tmp_path: Path) -> None:
    path = grey_video(tmp_path / "v.mkv", [0.0], (4096, 4096), codec=Codec("ffv1"))
    with DecodingProcess(Limits(max_bytes=40 * 2**20)) as process:
        with pytest.raises(UnusableError) as raised:
            list(process.decode(str(path), STREAMS))
        assert raised.value.reason in (Reason.DECODING_TOO_LARGE, Reason.DECODER_DIED)


def test_a_video_that_is_left_off_leaves_no_process_behind(video: str) -> None:
    with DecodingProcess(Limits()) as process:
        parts = process.decode(video, STREAMS)
        next(parts)
        parts.close()
        assert process.pid is None
