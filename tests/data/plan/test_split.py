from collections import Counter

import pytest

from vtr_core.data.splits import assign_splits
from vtr_core.errors import ConfigError

VIDEOS = [f"video{i}" for i in range(5000)]
SHARES = {"train": 0.8, "val": 0.15, "test": 0.05}


def test_shares_come_out_in_expectation():
    counts = Counter(assign_splits(VIDEOS, SHARES, seed=3).values())
    for name, share in SHARES.items():
        assert counts[name] == pytest.approx(5000 * share, abs=75)


def test_a_video_keeps_its_split_whatever_the_others_are():
    whole = assign_splits(VIDEOS, SHARES, seed=1)
    assert assign_splits(VIDEOS[::-7], SHARES, seed=1) == {video: whole[video] for video in VIDEOS[::-7]}


def test_the_split_is_a_fixed_function_of_id_and_seed():
    assert assign_splits(["a", "b", "c", "d", "e"], {"x": 0.5, "y": 0.5}, seed=0) == dict(
        zip("abcde", "yxxyx", strict=True)
    )


def test_another_seed_is_another_split():
    assert assign_splits(VIDEOS, SHARES, seed=1) != assign_splits(VIDEOS, SHARES, seed=2)


def test_an_empty_share_gets_no_video_and_a_whole_one_gets_all():
    assert set(assign_splits(VIDEOS, {"none": 0.0, "all": 1.0, "nor": 0.0}).values()) == {"all"}


@pytest.mark.parametrize(
    ("fractions", "message"),
    [
        ({"train": 0.8, "val": 0.1}, r"sum to 1, not 0\.9 \(given: train 0\.8, val 0\.1\)"),
        ({"train": 1.2, "val": -0.2}, r"in \[0, 1\]"),
        ({"train": float("nan")}, r"in \[0, 1\]"),
        ({}, r"given: none"),
    ],
)
def test_shares_that_are_none_are_errors(fractions, message):
    with pytest.raises(ConfigError, match=message):
        assign_splits(VIDEOS, fractions)
