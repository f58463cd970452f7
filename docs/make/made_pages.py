"""The pages of the site that are made from the code, from notebooks and from what was measured."""

import contextlib
import io
import os

from docs.make.configuration import configuration_page
from docs.make.navigation import ROOT
from docs.make.notebooks import notebook_pages
from pipelines.cli import run
from pipelines.commands import COMMANDS
from pipelines.systems.registry import SYSTEMS

PUBLIC = {
    "vtr_core.api": "Models and indexes in a program of your own",
    "vtr_core.run.presets": "Configurations by name",
    "vtr_core.run.config": "A run's configuration",
    "vtr_core.config.override": "Configurations with changes",
    "vtr_core.data.manifest": "Data sets",
    "vtr_core.similarity": "Similarities",
    "vtr_core.metrics.ranking": "Ranks, recalls and chance",
    "vtr_core.systems.system": "What a system offers",
    "vtr_core.systems.implementation": "A system's part that needs torch",
    "vtr_core.errors": "Errors",
}
"""What a program of one's own may import, with what it is for."""


def made_pages() -> dict[str, str]:
    """The pages' texts by their path on the site."""
    return {
        "reference/configuration.md": configuration_page(),
        "reference/presets.md": presets_page(),
        "reference/commands.md": commands_page(),
        "reference/api.md": api_page(),
        "benchmarks/index.md": benchmarks_page(),
        **notebook_pages(),
    }


def presets_page() -> str:
    """Every preset of each system, and its variants."""
    parts = [
        "# Presets",
        "",
        "As `vtr train --list`; `vtr train <preset> --help` shows a preset's settings. Made from the code.",
    ]
    for system in SYSTEMS:
        table = system.presets()
        parts += ["", f"## {system.name}", "", f"Trained on {system.reads}."]
        for title, rows in (
            ("preset", table.bases),
            ("variant, `<preset>-<variant>`", table.variants),
            ("recipe, `<preset>-<recipe>` and `<preset>-<recipe>-<variant>`", table.recipes),
        ):
            if rows:
                parts += ["", f"| {title} | |", "|---|---|"]
                parts += [f"| `{name}` | {row.about} |" for name, row in rows.items()]
        parts += ["", f"Spaces of `vtr sweep`: {', '.join(f'`{space.name}`' for space in table.spaces) or 'none'}."]
    return "\n".join([*parts, ""])


def commands_page() -> str:
    """What `--help` of every command prints."""
    parts = [
        "# Commands",
        "",
        "What `vtr <command> --help` prints. Exit code 0, 2 with an error of one line, 130 if interrupted.",
    ]
    for command in COMMANDS:
        parts += ["", f"## vtr {command.name}", "", command.summary + ".", "", "```text", _help(command.name), "```"]
    return "\n".join([*parts, ""])


def _help(name: str) -> str:
    said = io.StringIO()
    os.environ["COLUMNS"] = "110"
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        run(name, ["--help"])
    return said.getvalue().strip("\n")


def api_page() -> str:
    """The modules that a program of one's own may import, those that are there."""
    there = {name: what for name, what in PUBLIC.items() if (ROOT / f"{name.replace('.', '/')}.py").is_file()}
    parts = [f"## {what}\n\n::: {name}\n    options:\n      heading_level: 3\n" for name, what in there.items()]
    return "\n".join(
        ["# Python", "", "What a program of your own may import; other modules change without notice.", "", *parts]
    )


def benchmarks_page() -> str:
    """The pages of measurements with their first headings."""
    pages = {file.name: _heading(file.read_text()) for file in sorted(ROOT.glob("benchmarks/results/*.md"))}
    lines = [f"- [{title}]({name})" for name, title in pages.items()]
    told = (
        "Each page names the command that makes it, or the commit at which it was made where its code has changed or "
        "gone since, the machine, the versions, and what else ran beside it; of the three walks, which no command "
        "makes, only seconds were noted."
    )
    return "\n".join(["# Measured", "", told, "", *lines, ""])


def _heading(text: str) -> str:
    return text.lstrip().splitlines()[0].lstrip("# ")
