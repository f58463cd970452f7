"""The page of all settings of a training, from the configuration's classes: name, values, default, meaning."""

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.systems.registry import SYSTEMS

Schema = Mapping[str, Any]
_HEAD = """\
# Configuration

Every setting of a run is a flag, `--batch.videos 128` for `batch.videos`, and a field of the run's `config.json`.
`vtr train <preset> --help` shows the settings of a preset with its values; the defaults below are those of a
configuration that starts from nothing. A setting that takes one of several classes is chosen by `.kind`:
`--loss.kind info_nce --loss.temperature 0.05`. This page is made from the code.
"""
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
_ANY = 2**31 - 1
"""The upper bound of all counts, which is no news in a table."""


def configuration_page() -> str:
    """The page in Markdown: a section for the whole configuration, then one for each class that it names."""
    schema = SYSTEMS.schema()
    sections = [_section("A run", schema), *(_section(name, schema["$defs"][name]) for name in _in_order(schema))]
    return "\n".join([_HEAD, *sections])


def _in_order(schema: Schema) -> list[str]:
    """The classes in the order in which settings name them first."""
    found: list[str] = []
    waiting = list(_classes(schema["properties"]))
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found.append(name)
            waiting = [*_classes(schema["$defs"][name].get("properties", {})), *waiting]
    return found


def _classes(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for inner in part:
            yield from _classes(inner)
    elif isinstance(part, Mapping):
        if "$ref" in part:
            yield part["$ref"].rpartition("/")[2]
        for name, inner in part.items():
            if name in ("anyOf", "oneOf", "allOf", "items", "additionalProperties") or isinstance(inner, Mapping):
                yield from _classes(inner)


def _section(name: str, schema: Schema) -> str:
    rows = [_row(setting, value) for setting, value in schema.get("properties", {}).items()]
    told = " ".join(schema.get("description", "").split())
    table = ["| setting | values | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join([f"## {name}", "", told, "", *table, ""])


def _row(setting: str, value: Schema) -> str:
    meaning = " ".join(value.get("description", "").split())
    cells = (f"`{setting}`", _values(value), _default(value), meaning)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(value: Schema) -> str:
    """The default; none for a class, whose own table has them."""
    if "default" not in value:
        return "required"
    default = value["default"]
    if isinstance(default, dict):
        return f"`{default['kind']}`" if "kind" in default else "see there"
    return f"`{default}`"


def _values(value: Schema) -> str:
    """What a setting may be, in Markdown."""
    for choice in ("anyOf", "oneOf"):
        if choice in value:
            return ", ".join(_values(one) for one in value[choice])
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in value or "enum" in value:
        return ", ".join(f"`{one}`" for one in value.get("enum", [value.get("const")]))
    if isinstance(value.get("items"), Mapping):
        return f"list of {_values(value['items'])}"
    bounds = [f"{sign} {value[name]}" for name, sign in _BOUNDS.items() if name in value and value[name] != _ANY]
    if "pattern" in value:
        return f"like `{value['pattern']}`"
    return " ".join([str(value.get("type", "any")).replace("null", "None"), *bounds])
