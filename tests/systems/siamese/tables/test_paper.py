"""The Siamese table's page: the paper's figures, ours over groups, and whether the goal is met."""

from vtr_core.systems.siamese.tables.paper import ROWS, markdown


def figures(accuracy: float) -> dict[str, float]:
    return {
        "train/accuracy": 99.0,
        "train/loss": 0.01,
        "test/accuracy": accuracy,
        "test/loss": 0.05,
        "test/accuracy_at_margin": 80.0,
        "test/auc": 97.0,
        "test/eer": 6.0,
    }


def test_a_row_has_the_papers_figure_and_mean_and_deviation():
    page = markdown({"": [figures(94.0), figures(96.0)], "lenet": [figures(90.0)]}, 7)
    rows = {line.split(" | ")[0].strip("| "): line for line in page.splitlines() if line.startswith("| ")}
    assert "94.21 → **95.00** ± 1.41" in rows["SCN"]
    assert "0.019 → **0.050** ± 0.000" in rows["SCN"]
    assert "| 2 of 7 |" in rows["SCN"]
    assert "87.09 → **90.00** |" in rows["LeNet"]
    assert "92.05 → – |" in rows["ResNet-34"]
    assert "reached, 95.00 %" in page
    assert "SCN is above the best convolutional network that was trained, lenet with 90.00 %" in page


def test_a_goal_that_is_missed_is_said():
    page = markdown({"": [figures(91.0)], "alexnet": [figures(93.0)]}, 7)
    assert "not reached, 91.00 %" in page
    assert "SCN is not above the best convolutional network" in page
    assert "Goal" not in markdown({}, 7)


def test_the_papers_figures():
    assert {row.title: row.test_accuracy for row in ROWS if row.test_accuracy is not None} == {
        "LeNet": 87.09,
        "ResNet-34": 92.05,
        "AlexNet": 91.20,
        "SCN": 94.21,
        "SDropCapNet": 94.71,
    }
