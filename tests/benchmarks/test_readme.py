"""README's figures are those of the pages that it links: a page that was measured anew leaves no old figure behind."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECTIONS = re.compile(r"## (?:Limits|Measured beside others)\n(.*?)(?=\n## )", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((benchmarks/results/\w+\.md)\)([^\[]*)")
NUMBER = re.compile(r"\d*\.?\d+")


def _told() -> list[tuple[str, str]]:
    """(page, figure) of every figure between a link to a page and the next link."""
    sections = SECTIONS.findall((ROOT / "README.md").read_text())
    assert len(sections) == 2
    links = [link for section in sections for link in LINK.findall(section)]
    figures = [(page, figure) for page, said in links for figure in NUMBER.findall(said)]
    assert len(figures) > 8
    return figures


@pytest.mark.parametrize(("page", "figure"), _told())
def test_a_figure_is_a_rounding_of_one_in_its_page(page: str, figure: str) -> None:
    digits = len(figure.partition(".")[2])
    held = [float(number) for number in NUMBER.findall((ROOT / page).read_text())]
    assert float(figure) in {round(number, digits) for number in held}, f"{page} has no {figure}"
