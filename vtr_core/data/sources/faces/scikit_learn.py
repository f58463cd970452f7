"""Data sets that scikit-learn downloads, once, into its cache."""

from collections.abc import Callable
from typing import Any, TypeVar

from vtr_core.errors import ConfigError, InputError

T = TypeVar("T")


def fetched(fetch: Callable[[Any], T], what: str) -> T:
    """The result of `fetch` on scikit-learn's `sklearn.datasets`.

    Raises ConfigError without scikit-learn, and InputError where the download does not work.
    """
    try:
        from sklearn import datasets
    except ImportError as error:
        raise ConfigError(
            f"{what} come through scikit-learn, which is not installed: pip install scikit-learn"
        ) from error
    try:
        return fetch(datasets)
    except OSError as error:  # URLError among them
        raise InputError(
            f"{what} cannot be downloaded ({error}); where there is no network, copy the images here and use "
            "vtr ingest faces --root FOLDER, or lfw --root FOLDER"
        ) from error
