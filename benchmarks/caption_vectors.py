"""Word vectors from captions alone: factorised co-occurrence, written as a GloVe text file.

Two words co-occur where a caption holds both. With the counts n_ij, positive pointwise mutual information is

    P_ij = max(0, log n_ij N / (n_i · n'_j)),   n'_j = n_j^α renormalised to N = Σ n_j,  α = 0.75

and the vectors are U √Σ of its truncated singular value decomposition (Levy, Goldberg and Dagan 2015, sections 3.1 and
3.3), each brought to the length scale · √dim, so that a value's root mean square is `scale`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
from sklearn.utils.extmath import randomized_svd

from vtr_core.text.tokens.vocabulary import tokenise

SMOOTHING = 0.75


@dataclass(frozen=True)
class CaptionVectors:
    """Words by descending count, then alphabetically, and a row of `vectors` for each."""

    words: tuple[str, ...]
    vectors: np.ndarray


def caption_vectors(
    captions: Iterable[str], dim: int = 300, min_count: int = 3, scale: float = 0.3, seed: int = 0
) -> CaptionVectors:
    """The vectors of all words with at least `min_count` occurrences in `captions`."""
    documents = [tokenise(caption) for caption in captions]
    words = _vocabulary(documents, min_count)
    u, singular, _ = randomized_svd(_ppmi(documents, words), min(dim, len(words) - 1), n_iter=4, random_state=seed)
    vectors = u * np.sqrt(singular)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.maximum(lengths, 1e-9) * scale * np.sqrt(vectors.shape[1])
    return CaptionVectors(words, vectors.astype(np.float32))


def write_glove(trained: CaptionVectors, path: Path) -> None:
    """One line per word: the word and its values, separated by spaces."""
    with path.open("w", encoding="utf-8") as sink:
        for word, vector in zip(trained.words, trained.vectors, strict=True):
            print(word, *(f"{value:.5f}" for value in vector), file=sink)


def _vocabulary(documents: Sequence[Sequence[str]], min_count: int) -> tuple[str, ...]:
    counts = Counter(word for document in documents for word in document)
    frequent = [word for word, count in counts.items() if count >= min_count]
    return tuple(sorted(frequent, key=lambda word: (-counts[word], word)))


def _ppmi(documents: Sequence[Sequence[str]], words: Sequence[str]) -> sparse.csr_matrix:
    together = _co_occurrence(documents, words)
    total = np.asarray(together.sum(axis=1)).ravel()
    smoothed = total**SMOOTHING / (total**SMOOTHING).sum()
    counts = together.tocoo()
    information = np.log(counts.data / (total[counts.row] * smoothed[counts.col]))
    positive = information > 0
    cells = (information[positive].astype(np.float32), (counts.row[positive], counts.col[positive]))
    return sparse.csr_matrix(cells, shape=counts.shape)


def _co_occurrence(documents: Sequence[Sequence[str]], words: Sequence[str]) -> sparse.csr_matrix:
    """n_ij: the captions that hold both words; no word co-occurs with itself."""
    ids = {word: i for i, word in enumerate(words)}
    cells = [(row, ids[word]) for row, document in enumerate(documents) for word in set(document) if word in ids]
    rows, columns = np.array(cells).T
    holds = sparse.csr_matrix((np.ones(len(cells)), (rows, columns)), shape=(len(documents), len(words)))
    together = (holds.T @ holds).tocsr()
    together.setdiag(0)
    together.eliminate_zeros()
    return together
