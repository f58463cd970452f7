"""A flag's docstring of several lines is one paragraph of help.

tyro (1.0.17) joins lines before it takes off their indentation, so that each line after the first one begins a line of
help in the middle of a sentence.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from tyro import _docstrings


@contextmanager
def whole_paragraphs() -> Iterator[None]:
    """Within it, tyro's parsers read docstrings without indentation."""
    read = _docstrings.parse_docstring_from_object

    @cache
    def read_cleanly(documented: object) -> dict[str, str]:
        return {name: inspect.cleandoc(text) for name, text in read(documented).items()}

    _docstrings.parse_docstring_from_object = read_cleanly
    try:
        yield
    finally:
        _docstrings.parse_docstring_from_object = read
