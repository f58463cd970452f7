"""The Siamese table's page: the paper's figures, and ours over groups."""

import pytest

from pipelines.systems.siamese.siamese_paper import ATT, LFW, FaceTable, markdown


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
    page = markdown(ATT, {"scn": [figures(94.0), figures(96.0)], "lenet": [figures(90.0)]}, 7, 35)
    rows = {line.split(" | ")[0].strip("| "): line for line in page.splitlines() if line.startswith("| ")}
    assert "94.21 → **95.00** ± 1.41" in rows["SCN"]
    assert "0.019 → **0.050** ± 0.000" in rows["SCN"]
    assert "| 2 of 7 |" in rows["SCN"]
    assert "87.09 → **90.00** |" in rows["LeNet"]
    assert "92.05 → – |" in rows["ResNet-34"]


@pytest.mark.parametrize(("table", "size"), [(ATT, 34), (LFW, 5999)])
def test_data_that_are_too_small_are_not_compared(table: FaceTable, size: int):
    found = {"scn": [figures(99.0)] * 3, "lenet": [figures(90.0)] * 3}
    small, whole = (markdown(table, found, 3, number) for number in (size, size + 1))
    assert f"**These figures mean nothing** beside the paper's: the data have {size:,} {table.counted}" in small
    assert "mean nothing" not in whole


def test_the_papers_figures():
    printed = {row.title: row.published.test_accuracy for row in ATT.rows if row.published is not None}
    assert printed == {"LeNet": 87.09, "ResNet-34": 92.05, "AlexNet": 91.20, "SCN": 94.21, "SDropCapNet": 94.71}


def test_every_row_of_lfw_has_both_losses():
    contrastive = {row.name for row in LFW.rows if not row.double_margin}
    assert {row.name for row in LFW.rows} == contrastive | {f"{name}-double-margin" for name in contrastive}
    assert contrastive == {"scn", "drop-caps", "lenet", "alexnet", "resnet-34", "inception-v3"}
    page = markdown(LFW, {"scn-double-margin": [figures(97.0)]}, 10, 6000)
    (line,) = (line for line in page.splitlines() if line.startswith("| SCN, double margin"))
    assert "97.47 → **97.00**" in line
    assert "0.0019 → **0.010**" in line
