"""Loads models where nothing can be imported but what their requirements install and the code that they carry.

python -I only_requirements.py out.json MODEL …        writes what each makes of its input example
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def installed(texts: Iterable[str]) -> set[str]:
    """The names of the distributions that requirements install, with what these require themselves."""
    found: set[tuple[str, str]] = set()
    left = list(texts)
    while left:
        wanted = Requirement(left.pop())
        for extra in ("", *wanted.extras):
            one = canonicalize_name(wanted.name), extra
            if one not in found and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
                found.add(one)
                left += _required(wanted.name, extra)
    return {name for name, _ in found}


def _required(name: str, extra: str) -> list[str]:
    """What a distribution of this environment requires; markers for the extra are taken out."""
    try:
        texts = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    wanted = [Requirement(text) for text in texts]
    chosen = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": extra})]
    return [f"{one.name}[{','.join(one.extras)}]" for one in chosen]


class OnlyThese:
    """In place of Python's own finder: none but the given distributions' modules, and vtr_core of models alone."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        held = metadata.packages_distributions().items()
        self._others = {module for module, of in held if not names & {canonicalize_name(name) for name in of}}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "vtr_core":
            return PathFinder.find_spec(name, [entry for entry in sys.path if Path(entry).name == "code"])
        return None if path is None and name in self._others else PathFinder.find_spec(name, path, target)

    def find_distributions(self, context: Any) -> Iterator[metadata.Distribution]:
        found = PathFinder.find_distributions(context)
        return (one for one in found if canonicalize_name(one.name) in self._names)


def main(out: str, *models: str) -> None:
    texts = {line for model in models for line in (Path(model) / "requirements.txt").read_text().splitlines()}
    sys.meta_path[:] = [BuiltinImporter, FrozenImporter, OnlyThese(installed(texts))]  # type: ignore[list-item]
    import mlflow.pyfunc

    found = []
    for model in models:
        loaded = mlflow.pyfunc.load_model(model)
        found.append(loaded.predict(loaded.input_example).to_dict(orient="list"))
    Path(out).write_text(json.dumps(found, default=lambda array: array.tolist()))


if __name__ == "__main__":
    main(*sys.argv[1:])
