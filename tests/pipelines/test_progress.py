"""Progress: a bar on a terminal, lines elsewhere; and a page shows what was printed."""

import io
import re
from itertools import count

import pytest
from rich.table import Table

from pipelines.progress import Meter, progress_line
from pipelines.report.figures import page, show


def test_a_line_has_count_rate_and_time_left() -> None:
    assert progress_line(10, 40, "videos", 1.0) == "10 of 40 videos; 1.0 a second; 30 s left"
    assert (
        progress_line(10, 4000, "videos", 1.0, "2 dropped")
        == "10 of 4,000 videos; 1.0 a second; 2 dropped; 66 min left"
    )
    assert progress_line(40, 40, "shards", 0.5) == "40 of 40 shards; 0.5 a second"


def test_the_start_says_nothing_of_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, 100.0, 110.0, 120.0])
    with Meter(40, "videos", 10, clock=lambda: next(clock)) as meter:
        meter.tell(20)
        meter.tell(30)
        meter.tell(40)
    first, end = capsys.readouterr().out.splitlines()
    assert (first, end) == ("  20 of 40 videos", "  40 of 40 videos; 0.25 a second")
    clock = iter([0.0, 1.0, 11.0])
    with Meter(40, "videos", clock=lambda: next(clock)) as meter:
        meter.tell(20)
        meter.tell(30)
    assert capsys.readouterr().out == "  30 of 40 videos; 1.0 a second; 10 s left\n"


def test_a_log_gets_lines_ever_more_rarely_and_one_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    clock = count(0.0, 5.0)
    with Meter(20, "videos", clock=lambda: next(clock)) as meter:
        for done in range(1, 21):
            meter.tell(done)
    said = [int(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
    assert said == [2, 6, 14, 20]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_that_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    said = _Terminal()
    monkeypatch.setattr("sys.stdout", said)
    with Meter(4, "videos") as meter:
        for done in (1, 2, 3, 4):
            meter.tell(done, "[red]as it is[/red]")
        print("a line between")  # noqa: T201
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.getvalue())
    assert "a line between" in shown
    assert re.search(r"[━╸╺─]+ 4 of 4 videos; .* a second; \[red\]as it is\[/red\]", shown)


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
