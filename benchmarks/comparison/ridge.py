"""The baseline that a trained model must beat: ridge regression from pooled features to latent semantic text vectors.

Features standardised with the training videos' statistics → W → the mean over a video's captions of their TF-IDF
vectors, reduced by truncated SVD (LSA) to length 1. A caption finds a video by the cosine of the two, both centred on
the training captions' mean. Uses none of the product's models, losses or metrics.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.text.tokens.vocabulary import tokenise

ALPHAS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
LSA_DIMS = (100, 200, 400, 800)
STOP_WORDS = (None, "english")


@dataclass(frozen=True)
class Captioned:
    """Videos with their features, and captions with the row of the video that each belongs to."""

    features: np.ndarray
    captions: tuple[str, ...]
    video: np.ndarray


@dataclass(frozen=True)
class Fit:
    """One setting of the baseline: what it is, its validation figures, its test figures."""

    stop_words: str | None
    lsa_dim: int
    alpha: float
    validation: dict[str, float]
    test: dict[str, float]


def read_videos(manifest: Manifest) -> Captioned:
    """A data set whose clips are videos with several captions, as the product stores it."""
    reader = RowGroupReader(manifest, ["clip_id", "caption", "video"])
    groups = [reader.read(place) for place in row_groups(manifest)]
    clips, captions, features = (np.concatenate([group[name] for group in groups]) for name in reader.columns)
    _, first, video = np.unique(clips, return_index=True, return_inverse=True)
    return Captioned(features[first].astype(np.float64), tuple(captions), video)


def all_fits(train: Captioned, validation: Captioned, test: Captioned, more_text: Sequence[str]) -> list[Fit]:
    """Every setting, TF-IDF and LSA learned from the training captions and `more_text`."""
    mean, std = train.features.mean(axis=0), train.features.std(axis=0)
    features = [(part.features - mean) / std for part in (train, validation, test)]
    fits = []
    for stop_words in STOP_WORDS:
        for dim, texts in _text_vectors(stop_words, (train, validation, test), more_text):
            centre = texts[0].mean(axis=0)
            targets = np.stack([texts[0][train.video == v].mean(axis=0) for v in range(len(train.features))])
            for alpha in ALPHAS:
                model = Ridge(alpha=alpha, fit_intercept=False).fit(features[0], targets - centre)
                figures = [
                    retrieval_figures(_unit(text - centre) @ _unit(model.predict(x)).T, part.video)
                    for text, x, part in zip(texts[1:], features[1:], (validation, test), strict=True)
                ]
                fits.append(Fit(stop_words, dim, alpha, *figures))
    return fits


def selected(fits: Sequence[Fit]) -> Fit:
    """The setting with the best validation R@10; between equals the one with the best R@5."""
    return max(fits, key=lambda fit: (fit.validation["r10"], fit.validation["r5"]))


def retrieval_figures(scores: np.ndarray, relevant: np.ndarray) -> dict[str, float]:
    """Recall in percent and median rank of (queries, items) `scores`; `relevant[q]` is query q's item, ties shared."""
    own = scores[np.arange(len(scores)), relevant][:, None]
    ranks = 1 + (scores > own).sum(axis=1) + ((scores == own).sum(axis=1) - 1) / 2
    recalls = {f"r{k}": float(100 * (ranks <= k).mean()) for k in (1, 5, 10)}
    return {**recalls, "medr": float(np.median(ranks))}


def _text_vectors(
    stop_words: str | None, parts: Sequence[Captioned], more_text: Sequence[str]
) -> Iterator[tuple[int, list[np.ndarray]]]:
    """For every LSA size the unit vectors of the captions of `parts`; the first part is the training set."""
    # min_df: a word in one training caption alone says nothing; of the larger text it takes five.
    vectorizer = TfidfVectorizer(
        tokenizer=tokenise, token_pattern=None, sublinear_tf=True, stop_words=stop_words, min_df=5 if more_text else 2
    )
    counts = vectorizer.fit_transform([*parts[0].captions, *more_text])
    components = TruncatedSVD(max(LSA_DIMS), random_state=0).fit(counts).components_
    queries = [vectorizer.transform(part.captions) for part in parts]
    for dim in LSA_DIMS:
        yield dim, [_unit(query @ components[:dim].T) for query in queries]


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
