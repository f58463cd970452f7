"""Tags from TreeTagger, an external program that is called once for many captions."""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from vtr_core.errors import InputError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import local_path
from vtr_core.text.tagging.tagger import TaggedWord, TaggerMissing

_PARAMETERS = ("english.par", "english-utf8.par")
_CAPTIONS_PER_CALL = 20_000
_SENTENCE_END = "."
_UNKNOWN_LEMMA = "<unknown>"
_TAGS = {
    "CC": "CCONJ", "CD": "NUM", "DT": "DET", "EX": "PRON", "FW": "X", "IN": "ADP", "IN/that": "SCONJ", "JJ": "ADJ",
    "JJR": "ADJ", "JJS": "ADJ", "LS": "X", "MD": "AUX", "NN": "NOUN", "NNS": "NOUN", "NP": "PROPN", "NPS": "PROPN",
    "NNP": "PROPN", "NNPS": "PROPN", "PDT": "DET", "POS": "PART", "PP": "PRON", "PP$": "PRON", "PRP": "PRON",
    "PRP$": "PRON", "RB": "ADV", "RBR": "ADV", "RBS": "ADV", "RP": "ADP", "SENT": "PUNCT", "SYM": "SYM", "TO": "PART",
    "UH": "INTJ", "WDT": "DET", "WP": "PRON", "WP$": "PRON", "WRB": "ADV",
}  # fmt: skip
"""The Penn tags of TreeTagger's English parameter files. Verbs have tags per form: VB… be, VH… have, VV… others."""


@dataclass(frozen=True)
class TreeTagger:
    """TreeTagger as it is installed in a folder: bin/tree-tagger and lib/english.par."""

    folder: str

    @property
    def name(self) -> str:
        """The program and its parameter file."""
        return f"TreeTagger {self._files[1].name}"

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the program and its parameters."""
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self._files]
        return fingerprint(["treetagger/1", *digests])

    def tag(self, captions: Iterable[Sequence[str]]) -> Iterator[list[TaggedWord]]:
        """See PosTagger. A word without a known lemma is its own lemma; of several lemmas the first is taken."""
        remaining = iter(captions)
        while batch := list(islice(remaining, _CAPTIONS_PER_CALL)):
            lines = iter(self._run([line for words in batch for line in (*words, _SENTENCE_END)]))
            for words in batch:
                tagged = [next(lines) for _ in range(len(words) + 1)]
                yield tagged[:-1]

    @cached_property
    def _files(self) -> tuple[Path, Path]:
        return installed(self.folder)

    def _run(self, words: list[str]) -> list[TaggedWord]:
        """The program's answer, a line for each of `words`."""
        program, parameters = self._files
        with tempfile.TemporaryDirectory(prefix="vtr-treetagger-") as folder:
            source = Path(folder) / "words"
            source.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
            command = [str(program), "-quiet", "-token", "-lemma", str(parameters), str(source)]
            done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace")
        if done.returncode:
            raise InputError(f"{program} ended with {done.returncode}: {done.stderr}; run it by hand to see why")
        tagged = [_tagged_word(line, program) for line in done.stdout.splitlines()]
        if [word.text for word in tagged] != words:
            raise InputError(f"{program} answered with other words than it was given; is it a TreeTagger?")
        return tagged


def installed(folder: str) -> tuple[Path, Path]:
    """The program and the English parameter file below `folder` (empty: that of TAGDIR); TaggerMissing without them."""
    place = folder or os.environ.get("TAGDIR", "")
    root = Path(local_path(place))
    program = root / "bin" / "tree-tagger"
    parameters = next((path for name in _PARAMETERS if (path := root / "lib" / name).is_file()), None)
    if place and os.access(program, os.X_OK) and parameters is not None:
        return program, parameters
    raise TaggerMissing(
        f"TreeTagger is not in {place or 'a folder that was given'}: bin/tree-tagger and lib/{_PARAMETERS[0]} are "
        "needed; install it with its English parameter file, and give its folder as treetagger:FOLDER or in TAGDIR"
    )


def universal_tag(tag: str) -> str:
    """The universal tag of a TreeTagger tag; X for an unknown one."""
    if tag in _TAGS:
        return _TAGS[tag]
    if tag[:2] in ("VB", "VH", "VD"):
        return "AUX"
    if tag[:2] == "VV":
        return "VERB"
    return "X" if tag[:1].isalpha() else "PUNCT"


def _tagged_word(line: str, program: Path) -> TaggedWord:
    fields = line.split("\t")
    if len(fields) != 3:
        raise InputError(f"{program} answered {line!r}, not a word, a tag and a lemma; is it a TreeTagger?")
    word, tag, lemma = fields
    return TaggedWord(word, word if lemma == _UNKNOWN_LEMMA else lemma.split("|")[0].lower(), universal_tag(tag))
