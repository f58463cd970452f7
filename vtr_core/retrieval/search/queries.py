"""Errors of queries without known words."""

from vtr_core.errors import InputError
from vtr_core.systems.loaded_model import TrainedModel


def unknown_words(text: str, loaded: TrainedModel) -> InputError:
    """The error for a query without a known word."""
    words = loaded.vocabulary.words
    return InputError(
        f"no word of the query {text!r} is among the {len(words)} that the model knows, such as "
        f"{', '.join(words[:5])}; ask in the language and the words of its training captions"
    )
