"""How a run looks on MLflow's pages: tags, description, flat parameters, and URIs without their secrets."""

import getpass
import re
from collections.abc import Mapping, Sequence
from typing import Any

NOTE = "mlflow.note.content"
"""The tag that a run's page shows as its description."""


def page_tags(origin: Mapping[str, str], command: str, note: str) -> dict[str, str]:
    """Tags of a run: its code's origin, who made it with which command, and `note`, a description in Markdown.

    Versions and machine are left out of `origin`'s tags: environment.json has them, and every tag is a column.
    """
    shown = {name: value for name, value in origin.items() if name != "machine" and not name.startswith("version.")}
    tags = {
        "mlflow.user": _user(),
        "mlflow.source.name": command,
        "mlflow.source.type": "JOB" if "ray.submission_id" in origin else "LOCAL",
        "mlflow.source.git.commit": origin.get("git.commit", ""),
        "mlflow.source.git.branch": origin.get("git.branch", ""),
        NOTE: note,
    }
    return {**shown, **{name: value for name, value in tags.items() if value}}


def code(text: str) -> str:
    """`text` as inline code in Markdown, with any characters in it."""
    return f"`{' '.join(text.replace('`', ' ').split())}`"


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown: the first column to the left, the others to the right."""
    lines = [heads, ["---", *(["---:"] * (len(heads) - 1))], *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines) + "\n"


def figures_table(figures: Mapping[str, float]) -> str:
    """Validation figures, `val/t2v/r1` to value, as a table in Markdown; empty where there are none."""
    rows = [[name.removeprefix("val/"), f"{value:.4g}"] for name, value in sorted(figures.items())]
    return markdown_table(["validation", "value"], rows) if rows else ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        return ""


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"a": {"b": 1}} as {"a.b": 1}; lists and empty mappings are kept as values."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            flat.update(flatten(value, f"{name}."))
        else:
            flat[name] = value
    return flat


_PASSWORD = re.compile(r"(://[^:/@\s]*):\S*@")
_LONE_TOKEN = re.compile(r"://(?!\*\*\*@)[^:/@\s]+@")
_SECRET_VALUE = re.compile(r"(?i)([?&;][\w-]*(?:password|passwd|pwd|token|secret|signature|api_?key)=)[^&;\s]*")


def redact(text: str) -> str:
    """`text`, a URI or a message with URIs in it, with `***` for passwords, tokens and secret query values.

    `postgresql://user:password@host/db` becomes `postgresql://user:***@host/db`, `http://token@host` becomes
    `http://***@host`; a text without secrets stays as it is. In doubt, as for
    an @ in the path behind a port, more is taken out.
    """
    text = _PASSWORD.sub(r"\1:***@", text)
    text = _LONE_TOKEN.sub("://***@", text)
    return _SECRET_VALUE.sub(r"\1***", text)


def is_redacted(uri: str) -> bool:
    """Whether `redact` took something out of this URI."""
    return "***" in uri
