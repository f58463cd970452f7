"""Caption metrics that need Java: METEOR, and the Penn Treebank tokeniser, by pycocoevalcap."""

import shutil
from collections.abc import Mapping, Sequence
from importlib.util import find_spec


def java_missing() -> str | None:
    """Why METEOR and the tokeniser cannot run here; None where they can."""
    if find_spec("pycocoevalcap") is None:
        return "pycocoevalcap is not installed: pip install 'vtr-ray[captioning]'"
    if shutil.which("java") is None:
        return "there is no java on the PATH, and METEOR 1.5 is a Java program: install a Java runtime, 8 or later"
    return None


def meteor_of(
    hypotheses: Mapping[str, Sequence[str]], references: Mapping[str, Sequence[Sequence[str]]]
) -> dict[str, float]:
    """METEOR of every item in [0, 1] (Denkowski and Lavie 2014), of captions given as words."""
    from pycocoevalcap.meteor.meteor import Meteor

    given = {name: [" ".join(words)] for name, words in hypotheses.items()}
    expected = {name: [" ".join(words) for words in texts] for name, texts in references.items()}
    _, scores = Meteor().compute_score(expected, given)
    return dict(zip(expected, map(float, scores), strict=True))


def treebank_words(captions: Mapping[str, Sequence[str]]) -> dict[str, list[list[str]]]:
    """The words of captions by Stanford's Penn Treebank tokeniser, in lower case, without punctuation."""
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    given = {name: [{"caption": text} for text in texts] for name, texts in captions.items()}
    return {name: [text.split() for text in texts] for name, texts in PTBTokenizer().tokenize(given).items()}
