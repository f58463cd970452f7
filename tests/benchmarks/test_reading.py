"""Every way to read gives the same batches, bit for bit."""

from itertools import islice
from pathlib import Path

from benchmarks.feeding.data import FeedingClips, write_shards
from benchmarks.reading import OURS, SCAN, Flags, markdown, rate, ways


def test_all_ways_give_the_same_batches(tmp_path: Path) -> None:
    manifest = write_shards(FeedingClips(num_videos=5, num_raw=0), tmp_path / "shards", processes=1)
    compared = ways(Flags(batch_rows=64, work=str(tmp_path)), manifest)
    expected = list(islice(compared[OURS](), 3))
    assert rate(compared.pop(SCAN)(), seconds=0.01) > 0
    for batches in compared.values():
        for ours, theirs in zip(expected, batches(), strict=False):
            assert ours.keys() == theirs.keys()
            assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)
    assert rate(compared[OURS](), seconds=0.01) > 0


def test_the_page_has_a_row_for_every_way() -> None:
    rates = {OURS: [100.0, 200.0, 400.0], "other": [50.0, 50.0, 100.0]}
    figures = {"rows": 10, "batch_rows": 5, "rates": rates, "equal": dict.fromkeys(rates, True), "device": "a machine"}
    page = markdown({**figures, "versions": {"pyarrow": "1"}})
    assert "| other | 50 | 50 – 100 | 0.25 | yes |" in page
