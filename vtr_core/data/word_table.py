"""A vocabulary with or without given word vectors, as a data set carries it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import safetensors.numpy
from jaxtyping import Float32

from vtr_core import storage
from vtr_core.data.manifest import Manifest, VocabularyRecord
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location
from vtr_core.text.vocabulary import Vocabulary, tokenise
from vtr_core.text.word_vectors import read_word_vectors

WORDS = "vocabulary.json"
VECTORS = "word_vectors.safetensors"


@dataclass(frozen=True)
class WordTable:
    """Words with ids from 1 on, and a vector for each where a word-vector file was given."""

    vocabulary: Vocabulary
    vectors: Float32[np.ndarray, "words dim"] | None = None

    @classmethod
    def from_captions(cls, captions: Iterable[str], min_count: int = 1) -> "WordTable":
        """Every word of the captions with `min_count` occurrences; its vector is to be learned."""
        return cls(Vocabulary.from_captions(captions, min_count))

    @classmethod
    def from_vectors(cls, uri: str, captions: Iterable[str]) -> "WordTable":
        """The words of the captions that the word-vector file at `uri` knows, with its vectors."""
        wanted = {word for caption in captions for word in tokenise(caption)}
        found = read_word_vectors(uri, wanted)
        return cls(Vocabulary(tuple(found.words)), found.vectors)

    @classmethod
    def load(cls, manifest: Manifest) -> "WordTable":
        """The table of a data set."""
        record = manifest.vocabulary
        vocabulary = Vocabulary.from_json(storage.read_bytes(manifest.location / record.file))
        if record.vectors is None:
            return cls(vocabulary)
        content = safetensors.numpy.load(storage.read_bytes(manifest.location / record.vectors))
        return cls(vocabulary, content["vectors"])

    @property
    def fingerprint(self) -> str:
        """Equal for equal words and vectors."""
        vectors = None if self.vectors is None else hashlib.sha256(self.vectors.tobytes()).hexdigest()
        return fingerprint([self.vocabulary.fingerprint, vectors])

    def save(self, folder: Location) -> VocabularyRecord:
        """Write the table into a data set's folder and return its record for the manifest."""
        storage.write_bytes(folder / WORDS, self.vocabulary.to_json())
        dim = None if self.vectors is None else int(self.vectors.shape[1])
        if self.vectors is not None:
            storage.write_bytes(folder / VECTORS, safetensors.numpy.save({"vectors": self.vectors}))
        vectors = None if dim is None else VECTORS
        return VocabularyRecord(WORDS, len(self.vocabulary.words), self.vocabulary.fingerprint, vectors, dim)
