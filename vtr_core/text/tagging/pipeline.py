"""The spaCy pipeline of a tagger trained with this package: its layers, and how it is saved in little space."""

from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language

from vtr_core.text.tagging.lemmatiser import FACTORY, Lemmatiser
from vtr_core.text.tagging.settings import TaggerSettings

TAGGER, VECTORS, LEMMATISER = "morphologizer", "tok2vec", "lemmatiser"


def empty_pipeline(settings: TaggerSettings) -> Language:
    """The untrained pipeline: word vectors from hashes of four word features, convolutions, a linear tagging layer.

    The lemmatiser is added after training.
    """
    language = spacy.blank("en")
    language.add_pipe(VECTORS, config={"model": _vectors(settings)})
    language.add_pipe(TAGGER, config={"model": _layer(settings)})
    return language


def _vectors(settings: TaggerSettings) -> dict[str, Any]:
    return {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "spacy.MultiHashEmbed.v2",
            "width": settings.width,
            "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
            "rows": list(settings.rows),
            "include_static_vectors": False,
        },
        "encode": {
            "@architectures": "spacy.MaxoutWindowEncoder.v2",
            "width": settings.width,
            "window_size": 1,
            "maxout_pieces": settings.pieces,
            "depth": settings.depth,
        },
    }


def _layer(settings: TaggerSettings) -> dict[str, Any]:
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": settings.width, "upstream": VECTORS}
    return {"@architectures": "spacy.Tagger.v2", "tok2vec": listener, "nO": None}


def save_pipeline(
    language: Language, lemmatiser: Lemmatiser, settings: TaggerSettings, meta: dict[str, Any], folder: Path
) -> int:
    """Write a trained tagger with its lemmatiser, and return the size in bytes.

    The vocabulary met in training is left out: vectors are looked up by hashes of words.
    """
    packed = empty_pipeline(settings)
    packed.from_bytes(language.to_bytes(exclude=["vocab"]), exclude=["vocab"])
    packed.meta.update(meta)
    added = packed.add_pipe(FACTORY, name=LEMMATISER)
    assert isinstance(added, Lemmatiser)
    added.from_lemmatiser(lemmatiser)
    folder.mkdir(parents=True, exist_ok=True)
    packed.to_disk(folder)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
