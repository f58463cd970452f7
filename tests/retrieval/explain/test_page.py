"""The page of retrieved examples: what it shows of models with and without units, and of items without pictures."""

from pathlib import Path

from tests.retrieval.explain.test_frames import PNG
from vtr_core.retrieval.explain.explanation import Tag
from vtr_core.retrieval.explain.pages import (
    ComparedModel,
    ExampleAnswer,
    ExampleHit,
    ExampleQuery,
    ExampleReport,
    read_pictures,
    render_examples,
)
from vtr_core.storage import locate

IDS = ("v1", "v2")


def _report(*, units: bool, right: tuple[str, ...]) -> ExampleReport:
    tags = {"video": (Tag("3 <b>", 2.0, "×2.00", matched=True),)} if units else {}
    hits = tuple(ExampleHit(n + 1, one, one, one in right, 0.5, "a <i>", None, None, tags) for n, one in enumerate(IDS))
    query = ExampleQuery("a <u>", right, (ExampleAnswer(2 if right else None, hits),))
    return ExampleReport("data", 2, (ComparedModel("run", 1, "cosine", "A: preset"),), (query,))


def test_capsules_are_explained_where_a_model_has_them() -> None:
    pages = [render_examples(_report(units=units, right=()), read_pictures(None, IDS)) for units in (True, False)]
    assert ["model with capsules" in page for page in pages] == [True, False]
    assert ["3 &lt;b&gt;" in page for page in pages] == [True, False]
    assert not any(tag in pages[0] for tag in ("<i>", "<u>", "3 <b>"))


def test_there_are_no_placeholders_without_any_picture(tmp_path: Path) -> None:
    report = _report(units=False, right=())
    assert "<img" not in render_examples(report, read_pictures(None, IDS))
    (tmp_path / "v1.png").write_bytes(PNG)
    page = render_examples(report, read_pictures(locate(str(tmp_path)), IDS))
    assert page.count("<img") == 2
    assert "--keyframes" not in page


def test_the_best_hit_is_marked_where_it_is_not_the_right_one() -> None:
    known = render_examples(_report(units=False, right=("v2",)), read_pictures(None, IDS))
    assert (known.count("hit wrong"), known.count("hit right")) == (1, 1)
    assert "hit wrong" not in render_examples(_report(units=False, right=()), read_pictures(None, IDS))
