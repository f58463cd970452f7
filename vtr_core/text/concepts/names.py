"""The names of the concepts that a model detects, as stored in its checkpoints."""

import json
from dataclasses import dataclass

from vtr_core.errors import DatasetError
from vtr_core.json_text import parse_json


@dataclass(frozen=True)
class ConceptNames:
    """The names of the concepts in the order of the model's scores, and the fingerprint of the table they are from."""

    names: tuple[str, ...]
    table: str

    def to_json(self) -> bytes:
        """The content of `concepts.json`."""
        return (json.dumps({"names": self.names, "table": self.table}, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_json(cls, content: bytes, where: str = "concepts.json") -> "ConceptNames":
        """The names that `to_json` wrote at `where`; DatasetError where the content is damaged."""
        try:
            value = parse_json(content)
            names, table = value["names"], value["table"]
            usable = isinstance(table, str) and isinstance(names, list) and all(isinstance(n, str) for n in names)
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(f"{where} is no list of concepts ({error!r})") from error
        if not usable or len(set(names)) != len(names):
            raise DatasetError(f"{where} is no list of distinct concepts")
        return cls(tuple(names), table)
