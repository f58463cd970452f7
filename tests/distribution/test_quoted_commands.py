"""Every command that the documents quote is understood by its own parser, and is run by a test or said not to be."""

import pytest

from tests.cluster.quoted_commands import check, in_document
from tests.distribution.project import ROOT
from tests.distribution.readme_walk import NOT_WALKED, QUOTED, WALKED, elsewhere
from vtr_core.errors import ConfigError

ALL = [
    list(words) for words in dict.fromkeys(map(tuple, [*QUOTED, *in_document((ROOT / "CONTRIBUTING.md").read_text())]))
]


def test_they_are_found() -> None:
    assert ["train", "--resume", "s3://bucket/runs/a"] in ALL
    assert ["doctor"] in ALL
    assert len(ALL) > 50


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_each_is_understood(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if words == ["--help"]:
        return
    check(words, monkeypatch)
    if not {"--help", "--list"} & set(words):
        with pytest.raises(ConfigError, match="no-such-flag"):
            check([*words, "--no-such-flag", "x"], monkeypatch)


def test_each_is_run_by_a_test_or_listed_with_a_reason() -> None:
    unknown = [words for words in ALL if not (elsewhere(words) or words in WALKED)]
    assert unknown == []
    assert [start for start in NOT_WALKED if not any(elsewhere(words) == start for words in ALL)] == []
