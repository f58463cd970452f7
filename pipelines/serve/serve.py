"""The search app, served until Ctrl-C."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pipelines.evaluate.evaluation_flags import device
from pipelines.serve.command import ServeFlags
from pipelines.systems.registry import SYSTEMS
from vtr_core.analysis.transforms import Transform, read_transform
from vtr_core.errors import ConfigError
from vtr_core.retrieval.explain.explanation import LONGEST_QUERY
from vtr_core.retrieval.explain.pages import read_pictures, render_search
from vtr_core.retrieval.index.index import IndexRecord, load_index
from vtr_core.retrieval.search.index_search import key_frames
from vtr_core.serving.applications import SearchSite, search_app
from vtr_core.serving.engine import Catalogue, Engine, Source, check_shards
from vtr_core.serving.json_interface import DEFAULT_K
from vtr_core.serving.server import AppServer, is_loopback
from vtr_core.storage import locate

_RATE = 20.0
"""Queries per second of one address, where other machines may ask."""


def serve(flags: ServeFlags) -> None:
    """Serve until interrupted."""
    with serving(flags) as server:
        print(f"serving     {server.address.url}  (Ctrl-C ends it)", flush=True)
        with suppress(KeyboardInterrupt):
            server.run()
    print("\nstopped")


@contextmanager
def serving(flags: ServeFlags) -> Iterator[AppServer]:
    """The server, bound but not yet serving; what it searches with ends with the context."""
    if flags.token is None and not is_loopback(flags.host):
        raise ConfigError(
            f"vtr serve: anyone who reaches {flags.host} could search here; give --token, or --host 127.0.0.1"
        )
    source = Source(flags.index, SYSTEMS, flags.checkpoint, device())
    rate = _RATE if flags.rate is None and not is_loopback(flags.host) else flags.rate
    with _engine(flags, source) as (engine, record, catalogue):
        frames = key_frames(source.index, record)
        transform = _transform(flags, engine)
        site = SearchSite(
            engine=engine,
            catalogue=catalogue,
            picture=lambda item_id: read_pictures(None, [item_id], frames)[item_id],
            page=lambda nonce: _page(nonce, record, engine.info.scoring, transform),
            at_once=flags.replicas,
        )
        yield AppServer(flags.host, flags.port, lambda address: search_app(site, address, flags.token, rate))


@contextmanager
def _engine(flags: ServeFlags, source: Source) -> Iterator[tuple[Engine, IndexRecord, Catalogue]]:
    if not flags.ray:
        shard = source.shard()
        yield shard, shard.record, shard.catalogue
        return
    from pipelines.ray_session import connect
    from vtr_core.serving.ray_engine import ray_engine

    index = load_index(locate(source.index))
    check_shards(index.record, flags.shards)
    connect(local_cpus=flags.replicas * flags.shards + 1)
    with ray_engine(source, flags.shards, flags.replicas) as engine:
        yield engine, index.record, Catalogue(index)


def _transform(flags: ServeFlags, engine: Engine) -> Transform | None:
    """The transform that the page's sliders begin with; None for an index without concepts to transform."""
    if engine.info.comparison is None:
        if flags.transform is not None:
            raise ConfigError("vtr serve: the index is searched in one space, without concepts; leave out --transform")
        return None
    if flags.transform is None:
        return Transform(engine.info.comparison)
    return read_transform(flags.transform, engine.info.comparison)


def _page(nonce: str, record: IndexRecord, scoring: str, transform: Transform | None) -> str:
    return render_search(
        nonce=nonce,
        preset=record.preset,
        scoring=scoring,
        data="/".join(record.data.split("/")[-2:]),  # who may search need not know where things lie
        num_items=record.num_items,
        clips=record.kind == "joint",
        longest_query=LONGEST_QUERY,
        page_size=DEFAULT_K,
        transform=transform,
    )
