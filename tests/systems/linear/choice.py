"""An evaluation of its own: how often a caption is nearer to its video than to another one."""

import numpy as np

from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.nn.embeddings import TEXT, VIDEO


def choice_accuracy(rows: EmbeddedRows) -> float:
    """The share, in percent, of pairs of a caption and another clip in which its own clip is nearer; ties count half.

    Over the captions with a known word whose clip has a video; 50 is chance, and the figure where there is no pair.
    """
    both = rows.present[TEXT] & rows.present[VIDEO]
    text, video, clip = rows.vectors[TEXT][both], rows.vectors[VIDEO][both], rows.clip_key[both]
    scores = text @ video.T
    ahead = np.diagonal(scores)[:, None] - scores
    won = (np.sign(ahead[clip[:, None] != clip]) + 1) / 2
    return 100 * float(won.mean()) if won.size else 50.0
