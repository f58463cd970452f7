"""`vtr index CHECKPOINT --data URI --out URI`: the vectors of a data set's videos, for `vtr search`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from pipelines.arguments import parse, print_help, wants_help, with_joined_data
from vtr_core.config.data_sets import joined_weights
from vtr_core.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from vtr_core.retrieval.index.index import IndexRecord


@dataclass(frozen=True)
class IndexFlags:
    """Flags of `vtr index`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: str
    """Data set: whole videos for dual encoders and MUSE, clips for other models; --data A B indexes several."""
    out: str
    """Output folder or URI; an existing index is replaced."""
    backend: Literal["exact", "faiss"] = "exact"
    """faiss: also an approximate nearest-neighbour graph for candidates; needs pip install 'vtr-ray[faiss]'."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr index", IndexFlags)
        return
    index(parse(IndexFlags, with_joined_data(argv), "vtr index"))


def index(flags: IndexFlags) -> "IndexRecord":
    """Embed the videos, write the index, and print its content."""
    from pipelines.evaluation_inputs import device
    from vtr_core.fingerprint import short
    from vtr_core.retrieval.index.build import build_index
    from vtr_core.retrieval.index.faiss import check_faiss
    from vtr_core.retrieval.index.index import save_index
    from vtr_core.retrieval.spaces import spaces_of
    from vtr_core.run.inputs import usable_data
    from vtr_core.storage import check_writable, locate
    from vtr_core.train.checkpoint.load import load_model

    out = locate(flags.out)
    check_writable(out)
    if max(joined_weights(flags.data)) > 1:
        raise ConfigError(f"vtr index --data {flags.data}: an index has every video once; leave out the weights")
    if flags.backend == "faiss":
        check_faiss()
    loaded = load_model(flags.checkpoint, device())
    spaces_of(loaded, "an index")
    manifest = usable_data(loaded.config.model, flags.data)
    built = build_index(loaded, manifest, flags.backend)
    twice = [name for name, count in Counter(item.item_id for item in built.items).items() if count > 1]
    if twice:
        raise DatasetError(
            f"{flags.data}: {len(twice)} ids, {twice[0]} first, are in several data sets; index one alone"
        )
    record = save_index(out, built)
    sizes = ", ".join(f"{name} {size}" for name, size in record.sizes.items())
    total = sum(file.bytes for file in record.files.values())
    print(f"{record.num_items} items ({sizes}), compared by {record.similarity}; {total / 1e6:.1f} MB, {flags.backend}")
    print(f"model       {short(record.model_fingerprint)}  {record.checkpoint}")
    print(f"data        {short(record.data_fingerprint)}  {record.data}")
    print(f"index       {out}")
    print(f'next        vtr search "a query" --index {flags.out}')
    return record
