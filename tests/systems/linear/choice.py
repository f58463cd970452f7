"""An evaluation of its own: how often a caption is nearer to its video than to another one."""

import numpy as np

from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.retrieval.embed.clips import EmbeddedRows


def choice_accuracy(rows: EmbeddedRows) -> float:
    """The share, in percent, of `choices_won`; 50 is chance, and the figure where there is no pair."""
    return share_in_percent(*choices_won(rows))


def choices_won(rows: EmbeddedRows) -> tuple[float, float]:
    """Pairs of a caption and another clip in which its own clip is nearer, ties counted half, and all such pairs.

    Over the captions with a known word whose clip has a video.
    """
    both = rows.present[TEXT] & rows.present[VIDEO]
    text, video, clip = rows.vectors[TEXT][both], rows.vectors[VIDEO][both], rows.clip_key[both]
    scores = text @ video.T
    ahead = np.diagonal(scores)[:, None] - scores
    won = (np.sign(ahead[clip[:, None] != clip]) + 1) / 2
    return float(won.sum()), float(won.size)


def share_in_percent(won: float, pairs: float) -> float:
    """The share of `choices_won`."""
    return 100 * won / pairs if pairs else 50.0
