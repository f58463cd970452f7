"""Flags of `vtr extract` that cannot be meant: refused by name before anything is written or started."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.extract.command import ExtractFlags
from pipelines.extract.command import run as extract
from tests.builders.small_videos import grey_video
from vtr_core.errors import CheckpointError, ConfigError


@pytest.fixture
def good_flags(tmp_path: Path) -> ExtractFlags:
    """A folder of one film with a table; by Ray, which must not be started here."""
    (tmp_path / "films").mkdir()
    grey_video(tmp_path / "films" / "one.mp4", [0.0, 0.2])
    (tmp_path / "captions.csv").write_text("id,caption,video\na,a grey film,one.mp4\n")
    return ExtractFlags(str(tmp_path / "films"), str(tmp_path / "data"), str(tmp_path / "captions.csv"))


def _refused(good_flags: ExtractFlags, error: type[Exception], words: str) -> None:
    """As a data set and as files alone."""
    for flags in (good_flags, replace(good_flags, captions=None, features_only=True)):
        with pytest.raises(error, match=words):
            extract(flags)
    assert not Path(good_flags.out).exists()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"workers": -3}, "--workers is -3; give 0"),
        ({"seconds": -1.0}, "--seconds is -1; it must be above 0"),
        ({"seconds": float("nan")}, "--seconds is nan"),
        ({"decoder_bytes": 0}, "--decoder-bytes is 0; it must be 1 or more"),
        ({"videos_per_shard": 0}, "--videos-per-shard is 0; it must be 1 or more"),
        ({"max_words": 0}, "--max-words is 0"),
        ({"gpus_per_network": -0.5}, "--gpus-per-network is -0.5"),
    ],
)
def test_numbers_out_of_range(wrong: dict[str, object], words: str, good_flags: ExtractFlags) -> None:
    _refused(replace(good_flags, **wrong), ConfigError, words)  # type: ignore[arg-type]


def test_weights_that_are_none(good_flags: ExtractFlags, tmp_path: Path) -> None:
    """Ray would start actors that cannot load them again and again."""
    file = tmp_path / "w.pth"
    file.write_text("no weights")
    wrong = replace(good_flags, recipe=("howto-2d",), weights={"howto-2d": str(file)})
    _refused(wrong, CheckpointError, r"w\.pth is not a file of weights")


def test_captions_that_are_no_table(good_flags: ExtractFlags) -> None:
    with pytest.raises(ConfigError, match=r"--captions is subtitle; give a table \(.*\), subtitles, or .* msrvtt"):
        extract(replace(good_flags, captions="subtitle"))
