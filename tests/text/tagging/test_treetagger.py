"""TreeTagger's protocol, with a script in its place."""

import sys
from pathlib import Path

import pytest

from vtr_core.errors import InputError
from vtr_core.text.tagging import treetagger as tagging_treetagger
from vtr_core.text.tagging.tagger import PosTagger, TaggedWord, TaggerMissing
from vtr_core.text.tagging.treetagger import TreeTagger, universal_tag

SCRIPT = """\
#!{python}
import sys
options, parameters, source = sys.argv[1:-2], sys.argv[-2], sys.argv[-1]
assert options == ["-quiet", "-token", "-lemma"], options
assert open(parameters).read() == "parameters"
KNOWN = {{
    "dogs": "NNS\\tdog", "runs": "VVZ\\trun", "is": "VBZ\\tbe", "found": "VVN\\tfind|found", "Ünsinn": "NN\\t<unknown>",
    ".": "SENT\\t.",
}}
for line in open(source, encoding="utf-8"):
    word = line.rstrip("\\n")
    sys.stdout.buffer.write((word + "\\t" + KNOWN.get(word, "DT\\t" + word) + "\\n").encode())
"""


def install(folder: Path, script: str = SCRIPT) -> str:
    (folder / "bin").mkdir()
    (folder / "lib").mkdir()
    (folder / "lib" / "english.par").write_text("parameters")
    program = folder / "bin" / "tree-tagger"
    program.write_text(script.format(python=sys.executable))
    program.chmod(0o755)
    return str(folder)


def test_words_go_in_and_tagged_words_come_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tagging_treetagger, "_CAPTIONS_PER_CALL", 2)
    tagger = TreeTagger(install(tmp_path))
    assert isinstance(tagger, PosTagger)
    found = list(tagger.tag([["the", "dogs", "runs"], [], ["is", "found", "Ünsinn"]]))
    assert found == [
        [TaggedWord("the", "the", "DET"), TaggedWord("dogs", "dog", "NOUN"), TaggedWord("runs", "run", "VERB")],
        [],
        [TaggedWord("is", "be", "AUX"), TaggedWord("found", "find", "VERB"), TaggedWord("Ünsinn", "Ünsinn", "NOUN")],
    ]


def test_the_folder_may_stand_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGDIR", install(tmp_path))
    assert TreeTagger("").fingerprint == TreeTagger(str(tmp_path)).fingerprint
    (tmp_path / "lib" / "english.par").write_text("others")
    assert TreeTagger("").fingerprint != TreeTagger("").name
    before = TreeTagger("").fingerprint
    (tmp_path / "lib" / "english.par").write_text("parameters")
    assert TreeTagger("").fingerprint != before


def test_where_it_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAGDIR", raising=False)
    with pytest.raises(TaggerMissing, match=r"treetagger:FOLDER or in TAGDIR"):
        TreeTagger("").fingerprint  # noqa: B018
    with pytest.raises(TaggerMissing, match=r"bin/tree-tagger and lib/english\.par are needed"):
        list(TreeTagger(str(tmp_path)).tag([["a"]]))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("#!{python}\nimport sys; sys.exit('no parameters')\n", "ended with 1: no parameters"),
        ("#!{python}\nprint('a\\tDT\\ta')\n", "other words than it was given"),
        ("#!{python}\nprint('a DT a')\n", "not a word, a tag and a lemma"),
    ],
)
def test_a_program_that_does_something_else(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(TreeTagger(install(tmp_path, script)).tag([["a"]]))


def test_its_tags_become_universal() -> None:
    tags = "NN NNS NP VVG VBZ VHD VD MD JJR RB IN IN/that CC DT PP PP$ WRB CD TO SENT ( ??? XYZ"
    universal = (
        "NOUN NOUN PROPN VERB AUX AUX AUX AUX ADJ ADV ADP SCONJ CCONJ DET PRON PRON ADV NUM PART PUNCT PUNCT PUNCT X"
    )
    assert " ".join(universal_tag(tag) for tag in tags.split()) == universal
