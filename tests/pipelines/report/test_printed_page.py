"""A page shows what was printed, and text with markup in it is shown as text."""

import pytest
from rich.table import Table

from pipelines.report.figures import page, show


def test_tables_and_lines_are_on_the_page_as_they_were_printed(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(title="set <script>alert(1)</script>")
    table.add_column("R@1")
    table.add_row("17.2")
    table.add_row("[latent]")
    parts = [table, "  [bold]a remark[/bold] & more"]
    show(parts)
    printed = capsys.readouterr().out
    html = page(parts)
    for text in ("17.2", "R@1", "[latent]", "[bold]a remark[/bold]"):
        assert text in printed
        assert text in html
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
