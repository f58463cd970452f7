"""An index in Python: opened once, searched many times."""

from collections.abc import Sequence
from pathlib import Path
from warnings import warn

from vtr_core.api.model import Model, load
from vtr_core.errors import ConfigError, InputError
from vtr_core.retrieval.explain.values import HitExplanation
from vtr_core.retrieval.index.index import VideoIndex, load_index
from vtr_core.retrieval.search.filters import meeting, parse_conditions
from vtr_core.retrieval.search.hit import Hit
from vtr_core.retrieval.search.index import searcher
from vtr_core.retrieval.search.joint_searcher import JointSearcher
from vtr_core.retrieval.search.queries import not_known, unknown_words
from vtr_core.retrieval.search.searcher import SearchOptions
from vtr_core.storage import locate


class Index:
    """An index of `vtr index`, with the model that encodes queries."""

    def __init__(self, index: VideoIndex, model: Model, options: SearchOptions | None = None) -> None:
        self.model = model
        self._items = index.items
        self._searcher = searcher(index, model.loaded, options or SearchOptions())

    @classmethod
    def open(
        cls, uri: str | Path, model: Model | str | Path | None = None, options: SearchOptions | None = None
    ) -> "Index":
        """The index at `uri`.

        model: the one that it was made with, or where that is (default: where the index says). options: how hits are
        scored (default: as the model is evaluated). DatasetError where there is no index, or it is of another model.
        """
        found = load_index(locate(str(uri)))
        ready = model if isinstance(model, Model) else load(model or found.record.checkpoint)
        return cls(found, ready, options)

    @property
    def description(self) -> str:
        """How hits are scored, in words."""
        return self._searcher.description

    def search(self, query: str, k: int = 10, filters: Sequence[str] = ()) -> tuple[Hit, ...]:
        """The k best items for a query, best first; InputError for one without a known word.

        filters: conditions such as "colour=red" that hits meet, see `vtr search --filter`. Words that the model does
        not know take no part: a warning names them, and so does `not_known`.
        """
        (hits,) = self.search_all([query], k, filters)
        if hits is None:
            raise unknown_words(query, self.model.loaded)
        if words := self.not_known(query):
            warn(not_known(words), stacklevel=2)
        return hits

    def not_known(self, query: str) -> tuple[str, ...]:
        """The words of a query that the model does not know; () for a model with a pretrained text encoder."""
        return self._searcher.vocabulary.unknown_words(query)

    def explain(self, query: str, k: int = 5, tags: int = 10) -> tuple[HitExplanation, ...]:
        """The k best items for a query, each with the concepts that make its similarity, `tags` of each kind.

        ConfigError for an index whose model names no concepts; a dual encoder's videos are explained by
        `Model.explain`.
        """
        found = self._searcher
        if not isinstance(found, JointSearcher) or not found.concepts:
            raise ConfigError(f"the model of the index, {self.model.uri}, names no concepts that explain its hits")
        explained = found.explained(query, found.ranking(query, k), tags)
        if explained is None:
            raise unknown_words(query, self.model.loaded)
        return explained

    def search_all(
        self, queries: Sequence[str], k: int = 10, filters: Sequence[str] = ()
    ) -> list[tuple[Hit, ...] | None]:
        """The k best items for each query; None for a query without a known word."""
        if k < 1:
            raise InputError(f"k is {k}; it must be 1 or more")
        return self._searcher.search(list(queries), k, meeting(self._items, parse_conditions(filters)))
