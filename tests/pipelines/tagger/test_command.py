"""`vtr tagger evaluate`: a tagger's accuracy on a treebank, and each fault in one line."""

import json
from pathlib import Path

import pytest

from pipelines import tagger as tagger
from tests.text.treebank import treebank
from vtr_core.errors import ConfigError, InputError, VtrError
from vtr_core.text.tagging.spacy_tagger import shipped_tagger


def test_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evaluate", "--treebank", treebank(tmp_path / "bank", "en_ewt")]
    tagger.main(words)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{shipped_tagger().name} on en_ewt-ud-test.conllu"
    tagger.main([*words, "--json"])
    accuracy = json.loads(capsys.readouterr().out)
    assert accuracy["sentences"]["words"] == 36
    assert accuracy["sentences"]["tags"] > 0.9
    assert lines[2].split()[3:5] == ["36", f"{100 * accuracy['sentences']['tags']:.2f}"]
    assert lines[3].split()[-1] == f"{100 * accuracy['captions']['concepts']:.2f}"


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (["train"], ConfigError, "give evaluate; spaCy trains pipelines"),
        (["evaluate", "--treebank", "bank", "--part", "all"], InputError, "none for its all part"),
        (["evaluate", "--treebank", "bank", "--tagger", "x"], ConfigError, "there is no tagger 'x'"),
    ],
)
def test_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], kind: type[VtrError], message: str
) -> None:
    treebank(tmp_path / "bank")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        tagger.main(words)
