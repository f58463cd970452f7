"""The embeddings that an evaluation ranks: read, where `vtr embed` has written them, else computed."""

from collections.abc import Sequence

from pipelines.rows_read import RowsRead
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import short
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.embed.embeddings import load_embeddings, read_embeddings
from vtr_core.retrieval.embed.model_fingerprint import model_fingerprint
from vtr_core.retrieval.embed.rows import embed_rows
from vtr_core.train.checkpoint.load import LoadedModel


def embedded_rows(loaded: LoadedModel, manifest: Manifest, stored: Sequence[str] = ()) -> EmbeddedRows:
    """The data set's embeddings, from those of `stored` that are of it, else computed, with a bar of their progress."""
    for uri in stored:
        found = load_embeddings(uri)
        if found.data_fingerprint == manifest.fingerprint:
            found.check(model_fingerprint(loaded.model), manifest, uri)
            return read_embeddings(found, uri)
    with RowsRead(manifest) as read:
        return embed_rows(loaded.model, loaded.config, manifest, loaded.vocabulary, read.watch(row_groups(manifest)))


def check_stored(stored: Sequence[str], manifests: Sequence[Manifest]) -> None:
    """DatasetError for embeddings of none of the evaluated data sets."""
    for uri in stored:
        found = load_embeddings(uri)
        if all(manifest.fingerprint != found.data_fingerprint for manifest in manifests):
            raise DatasetError(
                f"{uri} holds embeddings of {found.data} ({short(found.data_fingerprint)}), which is none of --data or "
                "was ingested again; run vtr embed again"
            )
