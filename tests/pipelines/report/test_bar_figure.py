"""A bar stands for its figure, and a mark for what a baseline reaches in the same row."""

from pipelines.report.figures import Bar, Panel, bar_figure


def test_bars_and_marks_are_where_the_figures_are() -> None:
    bars = [Bar("t2v $R@1", 12.5, {"chance": 1.0, "best possible": 90.0}), Bar("t2v R@5", 40.0, {"chance": 5.0})]
    figure = bar_figure([Panel("test $x", bars), Panel("other", [Bar("a", 3.0, {})])])
    first, second = figure.axes
    assert [bar.get_width() for bar in first.patches] == [12.5, 40.0]
    marks = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in first.lines}
    assert marks == {"chance": ([1.0, 5.0], [0, 1]), "best possible": ([90.0], [0])}
    assert [label.get_text() for label in first.get_yticklabels()] == ["t2v $R@1", "t2v R@5"]
    assert second.get_legend() is None
    figure.canvas.draw()
