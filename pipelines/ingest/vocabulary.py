"""The vocabulary of the data set of --vocabulary, and the length of its captions."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vtr_core.data.shards.word_table import WordTable


def caption_length(vocabulary: str | None) -> int | None:
    """The caption length of the data set of --vocabulary: data sets are trained on as one where theirs are equal."""
    from vtr_core.data.manifest import Manifest, data_set

    return None if vocabulary is None else Manifest.load(data_set(vocabulary, "train")).schema.max_words


def words_of_data_set(vocabulary: str) -> "WordTable":
    """The vocabulary of a data set."""
    from vtr_core.data.manifest import Manifest, data_set
    from vtr_core.data.shards.word_table import WordTable

    return WordTable.load(Manifest.load(data_set(vocabulary, "train")))
