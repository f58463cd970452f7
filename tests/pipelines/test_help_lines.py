"""A docstring of several lines is one paragraph of help, for dataclasses of flags and for configurations."""

import pytest

from pipelines.arguments import print_help
from pipelines.search.flags import SearchFlags
from vtr_core.run.presets import preset


@pytest.mark.parametrize(
    ("of", "whole"),
    [
        (SearchFlags, "candidates of hnsw and ivf-pq that are compared exactly; in batch mode"),
        (preset("capsule-howto-tiny").training, "`off` by default, since it was tried on a CPU alone"),
    ],
    ids=["flags", "configuration"],
)
def test_sentences_run_on(
    of: object, whole: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    print_help("vtr", of)
    assert whole in capsys.readouterr().out
