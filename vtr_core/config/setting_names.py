"""The dotted names of settings, as errors suggest them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def setting_names(values: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The dotted names of all settings in `values`, without those of groups."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from setting_names(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def same_end(name: str, known: Iterable[str]) -> list[str]:
    """The dotted names that end as `name` does: training.epochs for epochs, optimizer.learning_rate for lr."""
    end = name.rpartition(".")[2]
    last = {other: other.rpartition(".")[2] for other in known}
    return [other for other, own in last.items() if end == own or ("_" in own and end == _initials(own))]


def _initials(name: str) -> str:
    return "".join(word[:1] for word in name.split("_"))
