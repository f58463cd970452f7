"""`vtr explain … --serve`: the interactive explanation, until Ctrl-C."""

import sys
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.explain.flags import ExplainQueriesFlags, Ready
    from vtr_core.serving.server import AppServer


_KEPT_PICTURES = 512


def serve(found: "Ready", flags: "ExplainQueriesFlags") -> None:
    """Serve until interrupted."""
    from vtr_core.serving.address import is_loopback

    server = explain_server(found, flags)
    if not is_loopback(flags.host):
        print(
            f"warning     anyone who reaches {flags.host} can search here, and there is no password; "
            "--host 127.0.0.1 keeps it to this machine",
            file=sys.stderr,
        )
    print(f"serving     {server.address.url}  (Ctrl-C ends it)", flush=True)
    with suppress(KeyboardInterrupt):
        server.run()
    print("\nstopped")


def explain_server(found: "Ready", flags: "ExplainQueriesFlags") -> "AppServer":
    """The server, bound but not yet serving."""
    from vtr_core.analysis.transforms import Transform
    from vtr_core.data.shards.thumbnails import Thumbnails
    from vtr_core.retrieval.explain.frames import Picture, check_frames, read_pictures
    from vtr_core.retrieval.explain.page import render_explorer
    from vtr_core.retrieval.explain.queries import LONGEST_QUERY
    from vtr_core.retrieval.explain.session import ExplainSession
    from vtr_core.retrieval.explain.values import ExplainOptions
    from vtr_core.retrieval.search.dual_spaces import known_queries
    from vtr_core.serving.explorer import Explorer, explorer_app
    from vtr_core.serving.server import AppServer
    from vtr_core.storage import locate

    frames = None if flags.keyframes is None else locate(flags.keyframes)
    check_frames(frames)
    captions: dict[str, list[int]] = {}
    for text, position in zip(*found.captions, strict=True):
        captions.setdefault(text.strip(), []).append(position)
    session = ExplainSession(
        videos=found.videos,
        scoring=found.scoring,
        embed=lambda text: known_queries(found.spaces, found.loaded, [text])[0],
        captions=captions,
        options=ExplainOptions(hits=flags.k, tags=flags.tags),
    )
    kind = found.scoring.transform.similarity

    def page(nonce: str) -> str:
        return render_explorer(
            nonce=nonce,
            preset=found.described.preset,
            step=found.described.step,
            data=found.described.data,
            similarity=kind,
            concept_weight=found.scoring.concept_weight,
            num_concepts=len(found.videos.concepts),
            num_videos=len(found.videos.video_id),
            longest_query=LONGEST_QUERY,
            transform=found.improved or Transform(kind),
            query=flags.query[0] if flags.query else "",
        )

    thumbnails = Thumbnails(found.manifest)

    @lru_cache(_KEPT_PICTURES)
    def picture(video: str) -> Picture:
        return read_pictures(frames, [video], thumbnails)[video]

    explorer = Explorer(session, page, picture)
    return AppServer(flags.host, flags.port, lambda address: explorer_app(explorer, address))
