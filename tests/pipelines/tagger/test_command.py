"""`vtr tagger`: a pipeline with its accuracy, licence and attribution, and each fault in one line."""

import json
from pathlib import Path

import pytest

from pipelines.tagger import command as tagger
from tests.text.treebank import treebank
from vtr_core.errors import ConfigError, InputError, RunConflict, VtrError
from vtr_core.text.tagging.spacy_tagger import SpacyTagger

SMALL = ["--width", "16", "--depth", "1", "--rows", "200", "50", "100", "50", "--epochs", "20", "--batch-words", "12"]


def test_train_and_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--treebank", treebank(tmp_path / "bank", "en_ewt"), "--out", str(tmp_path / "out"), *SMALL]
    tagger.main(["train", *words, "--name", "six", "--dropout", "0"])
    printed = capsys.readouterr().out
    assert "6 sentences to train on" in printed
    assert "epoch 20" in printed
    meta = json.loads((tmp_path / "out" / "meta.json").read_text())
    assert (meta["name"], meta["license"]) == ("six", "CC BY-SA 4.0")
    assert "Silveira" in meta["sources"][0]["author"]
    assert meta["training"]["rows"] == [200, 50, 100, 50]
    tagger.main(["evaluate", "--treebank", str(tmp_path / "bank"), "--tagger", f"spacy:{tmp_path}/out"])
    evaluated = capsys.readouterr().out.splitlines()
    assert evaluated[0] == f"{SpacyTagger(str(tmp_path / 'out')).name} on en_ewt-ud-test.conllu"
    assert evaluated[1:] == printed.splitlines()[-3:]
    as_is = meta["performance"]["sentences"]
    assert as_is["words"] == 36
    assert f"{100 * as_is['tags']:.2f}" in evaluated[2]
    assert meta["performance"]["captions"]["tags"] > 0.8


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (["tag"], ConfigError, "give train or evaluate"),
        (["train", "--treebank", "none", "--out", "o"], InputError, "none for its train part"),
        (["train", "--treebank", "bank", "--out", "o"], ConfigError, "--licence and --attribution"),
        (["train", "--treebank", "bank", "--out", "bank"], RunConflict, "not empty"),
        (
            ["train", "--treebank", "bank", "--out", "o", "--width", "0"],
            ConfigError,
            "width Input should be greater than 0",
        ),
        (["train", "--treebank", "bank", "--out", "o", "--epoch", "0"], ConfigError, "did you mean --epochs?"),
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
    assert not (tmp_path / "o").exists()
