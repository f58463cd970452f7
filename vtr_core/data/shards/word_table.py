"""The vocabulary of a data set, with or without given word vectors."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import safetensors.numpy
from jaxtyping import Float32

from vtr_core import storage
from vtr_core.config.data_sets import Tokenizer, UnknownWords
from vtr_core.data.manifest import Manifest, VocabularyRecord
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location
from vtr_core.text.tokens.vocabulary import Vocabulary, WordTags, bare_word
from vtr_core.text.word_vectors import read_word_vectors

WORDS = "vocabulary.json"
VECTORS = "word_vectors.safetensors"
_SEED = 0
"""Seed of the vectors of words that are missing from a word-vector file."""
_RESTORE = "restore or rebuild it"


@dataclass(frozen=True)
class Wording:
    """Tokenisation settings of captions."""

    min_count: int = 1
    """Minimum number of occurrences of a word."""
    tokenizer: Tokenizer = "words"
    unknown: UnknownWords = "dropped"
    tags: WordTags | None = None

    def made(self, uncut: bool) -> dict[str, Any]:
        """The settings as stored in a manifest."""
        tagger = {} if self.tags is None else {"tagger": self.tags.tagger}
        made = {"tokenizer": self.tokenizer, "min_count": self.min_count, "unknown": self.unknown, "uncut": uncut}
        return {**made, "tagged": bool(tagger), **tagger}


@dataclass(frozen=True)
class WordTable:
    """Words with ids from 1 on, and their vectors if a word-vector file was given."""

    vocabulary: Vocabulary
    vectors: Float32[np.ndarray, "words dim"] | None = None
    made: dict[str, Any] | None = None
    """Tokenisation settings as stored in the manifest; None in older ones."""

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        wording: Wording = Wording(),
        uncut: bool = False,
        word_vectors: str | None = None,
    ) -> "WordTable":
        """The words with at least `min_count` occurrences, with vectors from the file at `word_vectors`, if given.

        A word missing from the file is left out, or, where unknown words are `<unk>`, gets a random vector from
        U(−1, 1), as in the published code of dual encoding. `measure/verb` has the vector of `measure`.
        """
        words = Vocabulary.from_counts(counts, wording.min_count, wording.tokenizer, wording.unknown, wording.tags)
        table = cls(words, made=wording.made(uncut))
        return table if word_vectors is None else table._with_vectors(word_vectors)

    def _with_vectors(self, uri: str) -> "WordTable":
        """The table with the vectors of the file at `uri`, see `from_counts`."""
        words = self.vocabulary.words
        bare = [bare_word(word) for word in words] if self.vocabulary.tags else list(words)
        known = read_word_vectors(uri, set(bare))
        row = {word: number for number, word in enumerate(known.words)}
        if self.vocabulary.unknown == "dropped":
            numbers = [number for number, word in enumerate(bare) if word in row]
            vocabulary = replace(self.vocabulary, words=tuple(words[number] for number in numbers))
            return replace(
                self, vocabulary=vocabulary, vectors=known.vectors[[row[bare[number]] for number in numbers]]
            )
        vectors = np.random.default_rng(_SEED).uniform(-1, 1, (len(words), known.vectors.shape[1])).astype(np.float32)
        for number, word in enumerate(bare):
            if word in row:
                vectors[number] = known.vectors[row[word]]
        return replace(self, vectors=vectors)

    @classmethod
    def load(cls, manifest: Manifest) -> "WordTable":
        """The table of a data set; DatasetError where it is missing, damaged or does not match the manifest."""
        record = manifest.vocabulary
        place = manifest.location / record.file
        vocabulary = Vocabulary.from_json(storage.read_verified(place, None, _RESTORE), str(place))
        if vocabulary.fingerprint != record.fingerprint or len(vocabulary) != record.num_words:
            raise DatasetError(f"{place} is not the vocabulary that the manifest names; restore or rebuild it")
        vectors = None if record.vectors is None else _read_vectors(manifest.location / record.vectors, record)
        return cls(vocabulary, vectors, record.made)

    @property
    def fingerprint(self) -> str:
        """A hash of words and vectors."""
        vectors = None if self.vectors is None else hashlib.sha256(self.vectors.tobytes()).hexdigest()
        return fingerprint([self.vocabulary.fingerprint, vectors])

    def save(self, folder: Location) -> VocabularyRecord:
        """Write the table into a data set's folder and return its record for the manifest."""
        storage.write_bytes(folder / WORDS, self.vocabulary.to_json())
        words = VocabularyRecord(WORDS, len(self.vocabulary), self.vocabulary.fingerprint, made=self.made)
        if self.vectors is None:
            return words
        content = safetensors.numpy.save({"vectors": self.vectors})
        storage.write_bytes(folder / VECTORS, content)
        digest = hashlib.sha256(content).hexdigest()
        return replace(words, vectors=VECTORS, word_dim=int(self.vectors.shape[1]), vectors_sha256=digest)


def _read_vectors(place: Location, record: VocabularyRecord) -> Float32[np.ndarray, "words dim"]:
    content = storage.read_verified(place, record.vectors_sha256, _RESTORE)
    try:
        vectors = safetensors.numpy.load(content)["vectors"]
    except Exception as error:  # the parser may raise anything for a damaged file
        raise DatasetError(f"{place} is damaged ({error!r}); {_RESTORE}") from error
    if vectors.dtype != np.float32 or vectors.shape != (record.num_words, record.word_dim):
        form = f"{vectors.dtype} of shape {vectors.shape}, not float32 of ({record.num_words}, {record.word_dim})"
        raise DatasetError(f"{place} holds {form}; {_RESTORE}")
    return vectors
