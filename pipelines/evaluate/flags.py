"""What is to be evaluated, and how: the flags of `vtr evaluate` for retrieval."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

SimilarityName = Literal["dot", "cosine", "neg_euclidean", "neg_volume", "all"]


Normalization = Literal["dual_softmax", "query_bank"]


Rescale = Literal["matrix", "query", "train"]


@dataclass(frozen=True)
class EvaluateFlags:
    """What to evaluate and on what."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """A checkpoint folder, a run folder, whose best checkpoint is taken, or models:/NAME@ALIAS, a registered one."""
    data: tuple[str, ...]
    """One or more data sets."""
    similarity: tuple[SimilarityName, ...] = ()
    """How embeddings are compared, one table for each; all: dot, cosine, neg_euclidean (default: as in training)."""
    aggregate: Literal["none", "video"] = "none"
    """video: also whole videos, all captions of one searching for it, by mean embeddings and by caption average."""
    rescale: Rescale | None = None
    """Of a dual encoder: what the scores of its spaces are rescaled by before they are added: matrix (all scores,
    published), query, or train (training batches) (default: as in training)."""
    latent_weight: float | None = None
    """Of a dual encoder: α of α · latent + (1 − α) · concept (default: as in training)."""
    queries: Literal["all", "ambiguous"] = "all"
    """Of a dual encoder: ambiguous gives also the figures of the captions with a word that the corpus uses as several
    parts of speech, against their videos alone (subset C of the thesis), as the concept table has them."""
    concepts: str | None = None
    """Concept table with the ambiguous captions of all data sets (default: the folder concepts beside the first)."""
    normalize: tuple[Normalization, ...] = ()
    """Also figures with a correction at test time: dual_softmax uses all test queries, query_bank other captions."""
    dual_softmax_temperature: float = 0.01
    """Similarities are divided by it in the softmax over all test queries."""
    query_bank: str | None = None
    """Data set whose captions are the bank, for instance the training data."""
    bank_size: int = 5000
    """Captions drawn from it."""
    bank_seed: int = 0
    """Of that draw."""
    query_bank_temperature: float = 0.05
    """Similarities are divided by it in the sum over the bank."""
    knock_out: tuple[str, ...] = ()
    """Also figures without a mechanism of the model: activations (of capsules, by their mean), learner (of MUSE)."""
    average_checkpoints: int = 1
    """Evaluate the mean of the weights of a run folder's so many newest checkpoints."""
    experiment: str = "vtr"
    """MLflow experiment."""
    json: str | None = None
    """Write the figures to this file, too."""
