"""A registered model as `mlflow.pyfunc.load_model` gives it back: a table in, a table of embeddings or captions out.

Models carry their code (see vtr_core.tracking.carried_code), whose loader finds this module by its name and calls
`_load_pyfunc`. Models that were registered before they did name this module to MLflow itself, so its name stays.
Nothing is unpickled.
"""

from typing import Any

import pandas as pd
import torch

from vtr_core.data.assemble import Columns
from vtr_core.errors import InputError
from vtr_core.models.captioner import Captioner
from vtr_core.models.hybrid_encoder import HybridEncoder
from vtr_core.models.muse import Muse
from vtr_core.models.siamese import Siamese
from vtr_core.nn.embeddings import TEXT
from vtr_core.retrieval.captioning import caption_frames
from vtr_core.retrieval.dual_rows import embed_dual_captions
from vtr_core.retrieval.embed import embed_columns
from vtr_core.retrieval.embed_videos import embed_words
from vtr_core.retrieval.frame import CAPTION, captions_of, columns_of, dual_frame, embeddings_frame
from vtr_core.retrieval.frame_pixels import pixels_of
from vtr_core.retrieval.frame_sequences import frames_of
from vtr_core.retrieval.verification import encode_pixels
from vtr_core.storage import locate
from vtr_core.tracking.model_files import kept_checkpoint
from vtr_core.train.checkpoint import LoadedModel, load_model


class ServedModel:
    """Embeds or describes the rows of tables, on the first GPU where there is one.

    In: a column `caption` of texts, or a column of vectors for each of some features (`video`, `audio`, …, as in the
    model's signature), or both; None where a row lacks one. Out, under the same index: a column `text`, and one for
    each feature given; a value is a float32 array (embedding_dim,), or None where the row lacks it or knows no word.

    Of a dual encoder, in: the column `caption` alone; out: `latent` and `concepts`, the probability of each concept in
    the order of the checkpoint's concepts.json, as far as the model has these spaces. Of MUSE with an encoder of words,
    in: the column `caption` alone; out: `text`. Of a Siamese network, in: `pixels`, the values of an image row by row
    from 0 to 255; out: `encoding`. Of a captioner, in: its feature's column, of each video a list of its frames'
    vectors; out: `caption`, None for a video without frames.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self._loaded = loaded
        self._features = loaded.config.model.inputs.features

    def predict(self, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """What the model makes of a table's rows; InputError where a column or a value is not what the model takes."""
        if params:
            raise InputError(f"the model has no parameters, {', '.join(params)} were given")
        config = self._loaded.config
        if isinstance(self._loaded.model, HybridEncoder):
            captions = captions_of(model_input)
            return dual_frame(embed_dual_captions(self._loaded, captions), model_input)
        if isinstance(self._loaded.model, Muse):
            return self._of_muse(self._loaded.model, model_input)
        if isinstance(self._loaded.model, Siamese):
            pixels = pixels_of(model_input, self._loaded.model.config.image)
            vectors = encode_pixels(self._loaded.model, pixels, config.evaluation.batch_rows)
            return pd.DataFrame({"encoding": list(vectors)}, index=model_input.index, dtype=object)
        if isinstance(self._loaded.model, Captioner):
            return self._of_captioner(self._loaded.model, model_input)
        columns = columns_of(model_input, self._features, self._loaded.vocabulary, config.model.inputs.max_words)
        chunks = _pieces(columns, config.evaluation.batch_rows)
        return embeddings_frame(embed_columns(self._loaded.model, self._features, chunks), model_input)

    def _of_muse(self, model: Muse, table: pd.DataFrame) -> pd.DataFrame:
        captions, rows = captions_of(table), self._loaded.config.evaluation.batch_rows
        vectors, known = embed_words(model, self._loaded.vocabulary, captions, rows)
        cells = [vector if told else None for vector, told in zip(vectors, known, strict=True)]
        return pd.DataFrame({TEXT: cells}, index=table.index, dtype=object)

    def _of_captioner(self, model: Captioner, table: pd.DataFrame) -> pd.DataFrame:
        config = self._loaded.config
        feature = model.config.feature
        videos = frames_of(table, feature, self._features[feature], config.batch.max_frames)
        texts = caption_frames(model, config, self._loaded.vocabulary, videos)
        return pd.DataFrame({CAPTION: texts}, index=table.index, dtype=object)


def _pieces(columns: Columns, max_rows: int) -> list[Columns]:
    """Pieces of at most `max_rows` rows; one, empty, of no rows."""
    starts = range(0, max(1, len(columns["tokens"])), max_rows)
    return [{name: array[first : first + max_rows] for name, array in columns.items()} for first in starts]


def _load_pyfunc(data_path: str) -> ServedModel:
    """The model whose files are in the folder `data_path`; called by the loader, or MLflow."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return ServedModel(load_model(kept_checkpoint(locate(data_path)).uri, device))
