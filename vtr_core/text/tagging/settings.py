"""Settings of a tagger's size and training, and the licence and attribution of the treebank that it is trained on."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, PositiveFloat

from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings
from vtr_core.errors import ConfigError


class TaggerSettings(Settings):
    """Size of the network, and how it is trained."""

    width: PositiveInt = 96
    """Values of a word's vector."""
    depth: PositiveInt = 3
    """Convolutions, each of which sees one word more on either side."""
    pieces: PositiveInt = 2
    """Linear functions of which each of a convolution's values is the largest."""
    rows: tuple[PositiveInt, PositiveInt, PositiveInt, PositiveInt] = (4000, 300, 2000, 300)
    """Rows of the tables of vectors: for words, first letters, last three letters, shapes."""
    epochs: PositiveInt = 6
    """Passes over the treebank; the best of them by the accuracy on its dev part is kept."""
    batch_words: PositiveInt = 600
    """Words of a batch."""
    learning_rate: PositiveFloat = 0.001
    """Of Adam, after 250 steps; it falls linearly to a tenth at the end."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of values dropped in training."""
    caption_share: Annotated[float, Field(ge=0, le=1)] = 0.6
    """Share of sentences that an epoch shows as captions are written: in lower case, without punctuation."""
    scene_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of these that are retold as captions tell: somebody does something, in the present."""
    seed: NonNegativeInt = 0
    """Of weights, order and dropout."""


class Treebank(Settings):
    """What has to be said of a treebank."""

    name: str
    licence: str
    url: str
    attribution: str


_EWT = Treebank(
    name="Universal Dependencies English EWT",
    licence="CC BY-SA 4.0",
    url="https://universaldependencies.org/treebanks/en_ewt",
    attribution=(
        "Natalia Silveira, Timothy Dozat, Marie-Catherine de Marneffe, Samuel Bowman, Miriam Connor, John Bauer and "
        "Christopher D. Manning: A Gold Standard Dependency Corpus for English, LREC 2014; and the contributors to "
        "Universal Dependencies English EWT"
    ),
)


def known_treebank(file: Path, licence: str | None, attribution: str | None) -> Treebank:
    """Licence and attribution of a file's treebank: known for English EWT, ConfigError where they lack for another."""
    if licence is None and attribution is None and file.name.startswith("en_ewt-"):
        return _EWT
    if licence is None or attribution is None:
        raise ConfigError(f"{file.name} is of an unknown treebank; give its --licence and --attribution")
    return Treebank(name=file.name.partition("-ud-")[0], licence=licence, url="", attribution=attribution)
