"""How a run looks on MLflow's pages: the tags shown as columns of their own, and a description."""

import getpass
from collections.abc import Mapping, Sequence

NOTE = "mlflow.note.content"
"""The tag that a run's page shows as its description."""


def page_tags(origin: Mapping[str, str], command: str, note: str) -> dict[str, str]:
    """Tags of a run: its code's origin, who made it with which command, and `note`, a description in Markdown.

    Versions and machine are left out of `origin`'s tags: environment.json has them, and every tag is a column.
    """
    kept = {name: value for name, value in origin.items() if name != "machine" and not name.startswith("version.")}
    tags = {
        "mlflow.user": _user(),
        "mlflow.source.name": command,
        "mlflow.source.type": "JOB" if "ray.submission_id" in origin else "LOCAL",
        "mlflow.source.git.commit": origin.get("git.commit", ""),
        "mlflow.source.git.branch": origin.get("git.branch", ""),
        NOTE: note,
    }
    return {**kept, **{name: value for name, value in tags.items() if value}}


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
