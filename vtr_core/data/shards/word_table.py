"""A vocabulary with or without given word vectors, as a data set carries it."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import safetensors.numpy
from jaxtyping import Float32

from vtr_core import storage
from vtr_core.data.manifest import Manifest, VocabularyRecord
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location
from vtr_core.text.tokens.vocabulary import Tokenizer, Vocabulary
from vtr_core.text.vectors.word_vectors import read_word_vectors

WORDS = "vocabulary.json"
VECTORS = "word_vectors.safetensors"


@dataclass(frozen=True)
class WordTable:
    """Words with ids from 1 on, and a vector for each where a word-vector file was given."""

    vocabulary: Vocabulary
    vectors: Float32[np.ndarray, "words dim"] | None = None

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], min_count: int = 1, tokenizer: Tokenizer = "words") -> "WordTable":
        """Every word of the captions with `min_count` occurrences; its vector is to be learned."""
        return cls(Vocabulary.from_counts(counts, min_count, tokenizer))

    @classmethod
    def from_vectors(cls, uri: str, words: Iterable[str], tokenizer: Tokenizer = "words") -> "WordTable":
        """Those of `words`, as `tokenizer` cuts them, that the word-vector file at `uri` knows, with its vectors."""
        found = read_word_vectors(uri, set(words))
        return cls(Vocabulary(tuple(found.words), tokenizer), found.vectors)

    @classmethod
    def load(cls, manifest: Manifest) -> "WordTable":
        """The table of a data set; DatasetError where it is missing, damaged or not the one of the manifest."""
        record = manifest.vocabulary
        place = manifest.location / record.file
        vocabulary = Vocabulary.from_json(_content(place), str(place))
        if vocabulary.fingerprint != record.fingerprint or len(vocabulary) != record.num_words:
            raise DatasetError(f"{place} is not the vocabulary that the manifest names; restore or rebuild it")
        if record.vectors is None:
            return cls(vocabulary)
        return cls(vocabulary, _read_vectors(manifest.location / record.vectors, record))

    @property
    def fingerprint(self) -> str:
        """Equal for equal words and vectors."""
        vectors = None if self.vectors is None else hashlib.sha256(self.vectors.tobytes()).hexdigest()
        return fingerprint([self.vocabulary.fingerprint, vectors])

    def save(self, folder: Location) -> VocabularyRecord:
        """Write the table into a data set's folder and return its record for the manifest."""
        storage.write_bytes(folder / WORDS, self.vocabulary.to_json())
        words = VocabularyRecord(WORDS, len(self.vocabulary), self.vocabulary.fingerprint)
        if self.vectors is None:
            return words
        content = safetensors.numpy.save({"vectors": self.vectors})
        storage.write_bytes(folder / VECTORS, content)
        digest = hashlib.sha256(content).hexdigest()
        return replace(words, vectors=VECTORS, word_dim=int(self.vectors.shape[1]), vectors_sha256=digest)


def _read_vectors(place: Location, record: VocabularyRecord) -> Float32[np.ndarray, "words dim"]:
    content = _content(place)
    if record.vectors_sha256 is not None and hashlib.sha256(content).hexdigest() != record.vectors_sha256:
        raise DatasetError(f"{place} is damaged (its sha256 differs from the manifest's); restore or rebuild it")
    try:
        vectors = safetensors.numpy.load(content)["vectors"]
    except Exception as error:  # whatever the parser meets in a damaged file
        raise DatasetError(f"{place} is damaged ({error!r}); restore or rebuild it") from error
    if vectors.dtype != np.float32 or vectors.shape != (record.num_words, record.word_dim):
        what = f"{vectors.dtype} of shape {vectors.shape}, not float32 of ({record.num_words}, {record.word_dim})"
        raise DatasetError(f"{place} holds {what}; restore or rebuild it")
    return vectors


def _content(place: Location) -> bytes:
    try:
        return storage.read_bytes(place)
    except OSError as error:
        raise DatasetError(f"{place} cannot be read ({error}); restore or rebuild it") from error
