"""Findings of `vtr doctor`, as text and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["ok", "absent", "warning", "broken"]
"""absent: optional and not installed; warning: works with a drawback; broken: a required part fails."""
_MARKS = {"ok": "  ", "absent": "- ", "warning": "! ", "broken": "✗ "}


@dataclass(frozen=True)
class Finding:
    """The result of one check: its subject, state and remedy."""

    section: str
    name: str
    state: State
    what: str
    remedy: str = ""


def is_healthy(findings: Sequence[Finding]) -> bool:
    """Whether no finding is broken."""
    return all(finding.state != "broken" for finding in findings)


def as_text(findings: Sequence[Finding]) -> str:
    """Text with a paragraph for each section, and a summary of remedies as the last line."""
    width = max(len(finding.name) for finding in findings)
    lines: list[str] = []
    section = ""
    for finding in findings:
        if finding.section != section:
            section = finding.section
            lines += ["", section] if lines else [section]
        lines.append(f"{_MARKS[finding.state]}{finding.name.ljust(width)}  {_told(finding)}")
    broken = [finding.name for finding in findings if finding.state == "broken"]
    return "\n".join([*lines, "", f"broken: {', '.join(broken)}" if broken else "nothing that is needed is broken"])


def as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """The findings as JSON."""
    return {"healthy": is_healthy(findings), "findings": [asdict(finding) for finding in findings]}


def _told(finding: Finding) -> str:
    return f"{finding.what}; {finding.remedy}" if finding.remedy else finding.what
