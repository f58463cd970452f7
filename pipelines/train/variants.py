"""Help on the kinds of a setting: what each `.kind` means, and the settings that it has."""

from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import Any

from pipelines.systems.registry import SYSTEMS
from vtr_core.config.run import TrainConfig, loss_kinds

_WIDTH = 110


def variant_lines(config: TrainConfig) -> list[str]:
    """For each setting of several classes its kinds, with the meaning and the settings of each.

    Models and losses are those of the configuration's own system: another system is another preset.
    """
    schema = SYSTEMS.schema()
    found = _unions(schema, schema["$defs"], config.model_dump(mode="json"), "")
    lines = ["variants, chosen by .kind, with settings of their own:"]
    for name, variants in found:
        kept = [one for one in variants if _fits(name, _kind(one), config)]
        if len(kept) > 1:
            lines += ["", f"  --{name.replace('_', '-')}.kind", *(_line(one) for one in kept)]
    return lines


def _fits(name: str, kind: str | None, config: TrainConfig) -> bool:
    """Whether a variant of a setting can stand beside the configuration's model."""
    if name == "model":
        return kind in config.model.system().kinds
    return name != "loss" or kind in [loss.model_fields["kind"].default for loss in loss_kinds(config.model)]


def _unions(
    part: Mapping[str, Any], known: Mapping[str, Any], values: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Every setting whose value is one of several classes, by dotted name, below the variants that `values` have."""
    for name, value in part.get("properties", {}).items():
        classes, now = _classes(value, known), values.get(name)
        if any(_kind(one) for one in classes):
            yield f"{prefix}{name}", classes
        if isinstance(now, Mapping):
            chosen = [one for one in classes if len(classes) == 1 or _kind(one) == now.get("kind")]
            for one in chosen:
                yield from _unions(one, known, now, f"{prefix}{name}.")


def _classes(value: Mapping[str, Any], known: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = [value, *value.get("anyOf", []), *value.get("oneOf", [])]
    found = [known[choice["$ref"].rpartition("/")[2]] for choice in choices if "$ref" in choice]
    return [one for one in found if "properties" in one]


def _kind(one: Mapping[str, Any]) -> str | None:
    kind = one["properties"].get("kind", {}).get("const")
    return kind if isinstance(kind, str) else None


def _line(one: Mapping[str, Any]) -> str:
    settings = ", ".join(name.replace("_", "-") for name in one["properties"] if name != "kind")
    told = " ".join(str(one.get("description", "")).split())
    text = f"{_kind(one) or 'None'}: {told}{f' ({settings})' if settings else ''}"
    return fill(text, _WIDTH, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False)
