"""Captions as plain words: the input of concept counts and of taggers."""

import re

_OTHER = re.compile(r"[^A-Za-z0-9]")


def clean_words(text: str) -> list[str]:
    """The words of `text`: every character but A–Z, a–z, 0–9 becomes a space, the rest lower case, split at spaces.

    A contraction leaves its parts ("don", "t"), an accented letter cuts its word ("cr", "me"), and a text in another
    alphabet leaves nothing.
    """
    return _OTHER.sub(" ", text).lower().split()
