"""The page of published sizes: what was run stands beside chance, and what was not is named."""

from benchmarks.published_sizes import PUBLISHED, _at, markdown

ONE = {
    "settings": ["batch.videos=8"],
    "steps": 150,
    "chance": 33.3,
    "losses": {"5": 33.0, "100": 12.0, "150": 9.0},
    "recall": {"R@1": 17.7, "R@10": 48.4, "MedR": 11.0},
    "chance_recall": {"R@1": 0.1, "R@10": 0.9, "MedR": 537.0},
    "items": 1074,
    "step_s": 3.1,
    "memory_gb": 4.0,
    "machine": "a machine",
}


def test_each_preset_has_a_row() -> None:
    page = markdown({"capsule-howto": ONE})
    assert "33.00 (5) → 12.00 (100) → 9.00 (150) | 33.30 | 17.7 | 48.4 (0.9 of 1074) | 11 | 3.10 | 4.0 |" in page
    assert page.count("not run") == len(PUBLISHED) - 1


def test_losses_are_taken_where_training_came() -> None:
    points = [{"step": step, "train/loss": 1.0} for step in range(4, 202, 4)]
    assert [point["step"] for point in _at(points)] == [4, 100, 200]
