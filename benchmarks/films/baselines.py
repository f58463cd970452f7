"""What a trained model must beat: chance, the encoder as it is, kernel ridge regression, and the last two added.

Ridge: f(x) = Σ_i a_i k(x̂, x̂_i) from standardised rows x̂ to the centred vectors of the training captions, with the
kernel k(x, y) = exp(-|x - y|² / d) of d values; its fit is scikit-learn's. No model or loss of the product is used.
"""

from collections.abc import Mapping

import numpy as np
import torch
from sklearn.kernel_ridge import KernelRidge

from benchmarks.films.data import Captioned
from vtr_core.encoders.encoder import Encoder
from vtr_core.metrics.ranking import RetrievalMetrics, retrieval_metrics
from vtr_core.metrics.ranking import chance as by_chance
from vtr_core.metrics.ranks import from_matrix

ALPHAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Of which the best on the validation set is taken."""
ZERO_SHOT_WEIGHT = 0.5
"""Of zero-shot scores in the sum, both over their standard deviation."""


def chance(judged: Captioned) -> dict[str, float]:
    """The expected figures of a random order of the clips."""
    own, same = (by_chance(from_matrix(right)) for right in _relevant(judged))
    return _named(own, same)


def zero_shot(encoder: Encoder, judged: Captioned) -> dict[str, float]:
    """The encoder's similarities, without training and without captions."""
    return figures(_zero_shot_scores(encoder, judged), judged)


def ridge(
    encoder: Encoder, train: Captioned, val: Captioned, judged: Mapping[str, Captioned], *, with_zero_shot: bool
) -> dict[str, dict[str, float]]:
    """The figures of every judged set under the α that is best on `val` (the sum of R@1, R@5 and R@10)."""
    every = {"val": val, **judged}
    texts = {name: encoder.encode_text(one.captions) for name, one in {"train": train, **every}.items()}
    scores = [_ridge_scores(texts, train, every, alpha) for alpha in ALPHAS]
    if with_zero_shot:
        seen = {name: _zero_shot_scores(encoder, one) for name, one in every.items()}
        scores = [
            {n: s / s.std() + ZERO_SHOT_WEIGHT * seen[n] / seen[n].std() for n, s in by_set.items()}
            for by_set in scores
        ]
    fits = [{name: figures(s, every[name]) for name, s in by_set.items()} for by_set in scores]
    best = max(fits, key=lambda of: sum(of["val"][f"r{k}"] for k in (1, 5, 10)))
    return {name: best[name] for name in judged}


def figures(scores: np.ndarray, judged: Captioned) -> dict[str, float]:
    """Recalls in percent and the median rank of captions for their own clip; `same_r10` for any with the caption.

    Ties count as `vtr evaluate` has them, so that all rows of a table are of one protocol.
    """
    own, same = (retrieval_metrics(scores, right) for right in _relevant(judged))
    return _named(own, same)


def _relevant(judged: Captioned) -> tuple[np.ndarray, np.ndarray]:
    """(captions, clips): whether a clip is the caption's own, and whether it has the caption."""
    own = judged.clip[:, None] == np.arange(len(judged.rows))
    said = np.array(judged.captions)
    return own, np.stack([own[said == caption].any(axis=0) for caption in said])


def _named(own: RetrievalMetrics, same: RetrievalMetrics) -> dict[str, float]:
    recalls = {f"r{k}": 100 * own.recall[k] for k in (1, 5, 10)}
    return {**recalls, "medr": own.median_rank, "same_r10": 100 * same.recall[10]}


def _zero_shot_scores(encoder: Encoder, judged: Captioned) -> np.ndarray:
    with torch.inference_mode():
        videos = encoder.head()(torch.from_numpy(judged.rows[:, : encoder.feature_dim])).numpy()
    return encoder.encode_text(judged.captions) @ videos.T


def _ridge_scores(
    texts: Mapping[str, np.ndarray], train: Captioned, every: Mapping[str, Captioned], alpha: float
) -> dict[str, np.ndarray]:
    """Of every set; texts: the vectors of its captions, and of the training captions."""
    mean, std = train.rows.mean(axis=0), train.rows.std(axis=0) + 1e-3
    centre = texts["train"].mean(axis=0)
    targets = [texts["train"][train.clip == clip].mean(axis=0) - centre for clip in range(len(train.rows))]
    model = KernelRidge(alpha=alpha, kernel="rbf", gamma=1 / train.rows.shape[1])
    model.fit((train.rows - mean) / std, np.stack(targets))
    return {
        name: _unit(texts[name] - centre) @ _unit(model.predict((one.rows - mean) / std)).T
        for name, one in every.items()
    }


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
