"""How embeddings are compared at validation and test."""

from typing import Annotated, Literal

from pydantic import Field

from vtr_core.config.settings import PositiveInt, Settings

Normalisation = Literal["matrix", "query", "train"]


class EvaluationConfig(Settings):
    """How embeddings are compared at validation and test."""

    similarity: Literal["dot", "cosine", "neg_euclidean", "neg_volume"] = "dot"
    """Similarity of two embeddings: dot product, cosine, negative Euclidean distance, or the negative volume by which
    the loss `gram_volume` compares."""
    batch_rows: PositiveInt = 1024
    """Rows embedded at once."""
    latent_weight: Annotated[float, Field(ge=0.0, le=1.0)] = 0.6
    """α of a hybrid score: α · latent + (1 − α) · concept, each rescaled to [0, 1]."""
    normalise: Normalisation = "matrix"
    """Range by which the scores of a hybrid score are rescaled: that of all queries and items (published; depends on
    the whole test set), of the query alone, or of the training batches, which the model keeps."""
