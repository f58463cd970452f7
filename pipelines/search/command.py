"""`vtr search "a query" --index URI`: flags; the search itself is imported only when it runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from pipelines.arguments import parse, print_help, wants_help


@dataclass(frozen=True)
class SearchFlags:
    """Flags of `vtr search`."""

    query: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """One or more text queries, each in quotes; in batch mode give --topics instead."""
    index: str = tyro.MISSING
    """Index made by vtr index."""
    k: int | None = None
    """Number of results (default: 10, in batch mode 1000)."""
    space: Literal["hybrid", "latent", "concept"] | None = None
    """Dual encoders: rank by both spaces or by one of them (default: all spaces of the model)."""
    candidates: int | None = None
    """Best videos of latent space that the hybrid score re-ranks, and candidates of ivf-pq that are compared exactly;
    in batch mode at least k (default: all of an exact index, 800 of ivf-pq)."""
    latent_weight: float | None = None
    """Weight of latent space in the hybrid score (default: as the model is evaluated)."""
    normalise: Literal["query", "train"] | None = None
    """Range by which the scores of each space are rescaled: all scores of the query, or training scores (default: as
    the model is evaluated)."""
    transform: str | None = None
    """transform.json of vtr analyze causality, applied to concept scores."""
    filter: tuple[str, ...] = ()
    """Only items that meet these conditions on kept columns, item_id, video_id, start, end or caption, such as
    category=cooking, category!=news, caption~dog, year>=2015."""
    link: str | None = None
    """Address of each hit, with names in braces: "https://example.org/{video_id}?t={start}", {item_id}, {end} or a kept
    column (default: the kept column url or link)."""
    checkpoint: str | None = None
    """Checkpoint of the model, if it is no longer where the index says."""
    topics: str | None = None
    """Batch mode: file of topics, TRECVID XML or lines of id and text."""
    run: str | None = None
    """Batch mode: write the rankings to this file in TREC run format."""
    judgements: str | None = None
    """Batch mode: sampled relevance judgements (topic 0 item stratum judgement), for inferred average precision."""
    page: str | None = None
    """Also write the results to this HTML file, with thumbnails where the data set has them."""
    json: bool = False
    """Print JSON."""
    csv: bool = False
    """Print CSV, a row for each hit."""


def main(argv: Sequence[str]) -> None:
    """Parse the flags and search, or print the help."""
    if not argv or wants_help(argv):
        print_help("vtr search", SearchFlags)
        return
    flags = parse(SearchFlags, argv, "vtr search")
    from pipelines.search.search import search

    search(flags)
