"""Words of queries that a model does not know."""

from collections.abc import Sequence

from vtr_core.errors import InputError, one_line
from vtr_core.systems.loaded_model import TrainedModel


def unknown_words(text: str, loaded: TrainedModel) -> InputError:
    """The error for a query without a known word."""
    words = loaded.vocabulary.words
    return InputError(
        f"no word of the query {text!r} is among the {len(words)} that the model knows, such as "
        f"{', '.join(words[:5])}; ask in the language and the words of its training captions"
    )


def not_known(words: Sequence[str]) -> str:
    """The words of a query that the model does not know, which took no part in the search; "" for none."""
    return "not known: " + ", ".join(repr(one_line(word)) for word in words) if words else ""
