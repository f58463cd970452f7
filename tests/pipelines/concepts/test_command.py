"""`vtr concepts` makes a table where training looks for it, `vtr tagger evaluate` judges a tagger; faults in a line."""

import json
from pathlib import Path

import pytest

from pipelines import concepts as concepts
from pipelines import tagger as tagger
from tests.builders.captioned import captioned_videos
from tests.text.treebank import treebank
from vtr_core.config.override import override
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.errors import ConfigError, DatasetError, InputError, VtrError
from vtr_core.run.inputs import usable_concepts
from vtr_core.run.presets import preset
from vtr_core.text.tagging.spacy_tagger import shipped_tagger

CAPTIONS = {
    "a": ["the dog is running", "two dogs run", "the red dog"],
    "b": ["a man plays a guitar", "a man is playing guitar", "…"],
}


def test_a_table_and_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    captioned_videos(tmp_path / "d", CAPTIONS)
    concepts.main([str(tmp_path / "d"), "--processes", "1"])
    printed = capsys.readouterr().out
    table = ConceptTable.load(str(tmp_path / "d" / "concepts"))
    assert set(table.names) == {"dog", "run", "man", "play", "guitar"}
    assert "2 videos, 6 captions, 0.00 % repeat another video's" in printed
    assert "1 hold no word" in printed
    assert "top         dog 3, " in printed
    assert f"{tmp_path}/d/concepts: 5 concepts by spaCy" in printed
    concepts.main([str(tmp_path / "d"), "--processes", "1", "--pos", "--min-captions", "1", "--parts", "n"])
    assert set(ConceptTable.load(table.uri).names) == {"dog/noun", "man/noun", "guitar/noun"}


def test_a_preset_says_how_concepts_are_made(tmp_path: Path) -> None:
    data = captioned_videos(tmp_path / "d", {"a": ["a red dog runs near a man", "a dog is near"], "b": ["a dog"]})
    words = [str(tmp_path / "d"), "--processes", "1", "--preset", "hybrid-msrvtt-tiny-published"]
    concepts.main(words)
    table = ConceptTable.load(str(tmp_path / "d" / "concepts"))
    assert "near" in table.names
    assert (table.head.letters, table.head.stop_words) == ("n,v,j,a,p,c", "nltk")
    with pytest.raises(ConfigError, match="asks for stop_words = nltk, not short; leave out that flag"):
        concepts.main([*words, "--stop-words", "short"])
    concepts.main([str(tmp_path / "d"), "--processes", "1"])
    config = override(preset("hybrid-msrvtt-tiny-published"), {"model.num_concepts": 1})
    with pytest.raises(DatasetError, match=r"stop_words is short where nltk is asked for.*vtr concepts .* --preset"):
        usable_concepts(config, data, str(tmp_path / "d"), None)


def test_a_folder_of_splits_is_its_splits(tmp_path: Path) -> None:
    """Those of several folders are the splits of all."""
    for folder, split, video in (("d", "test", "t"), ("e", "val", "u")):
        captioned_videos(tmp_path / folder / "train", {f"{folder}{name}": said for name, said in CAPTIONS.items()})
        captioned_videos(tmp_path / folder / split, {video: ["a man runs", "a man sings"]})
    out = str(tmp_path / "table")
    concepts.main([str(tmp_path / "d"), str(tmp_path / "e"), "--processes", "1", "--out", out])
    places = [Path(part.uri).relative_to(tmp_path).as_posix() for part in ConceptTable.load(out).head.datasets]
    assert places == ["d/train", "d/test", "e/train", "e/val"]
    names = [f"counts-{number}.parquet" for number in range(4)]
    assert sorted(path.name for path in (tmp_path / "table").iterdir()) == ["concepts.json", *names]


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (["none"], DatasetError, "none is not a data set"),
        (["d", "--tagger", "x"], ConfigError, "there is no tagger 'x'; give one of default, "),
        (["d", "--tagger", "spacy:en_core_web_none"], ConfigError, "leave out --tagger"),
        (["d", "--tagger", "wordnet:none"], ConfigError, "none is not a WordNet dictionary"),
        (["d", "--tagger", "treetagger:none"], ConfigError, "TreeTagger is not in none"),
        (["d", "--parts", "n,z"], ConfigError, "there is no z"),
        (["d", "--num-concepts", "512"], DatasetError, "fewer than the 512"),
        (["d", "--num-concepts", "0"], ConfigError, "--num-concepts is 0"),
        (["d", "--min-captions", "0"], ConfigError, "--min-captions is 0"),
        (["d", "--ambiguous-share", "0.7"], ConfigError, "--ambiguous-share is 0.7"),
        (["d", "--processes", "-1"], ConfigError, "--processes is -1"),
        (["--out", "x"], ConfigError, "needs a data set"),
    ],
)
def test_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], kind: type[VtrError], message: str
) -> None:
    captioned_videos(tmp_path / "d", CAPTIONS)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        concepts.main(words)
    assert not (tmp_path / "d" / "concepts" / "concepts.json").exists()


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
def test_faults_of_judging_a_tagger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], kind: type[VtrError], message: str
) -> None:
    treebank(tmp_path / "bank")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        tagger.main(words)
