"""The benchmark of extraction measures the same videos several ways and says where memory goes."""

from pathlib import Path

from benchmarks import extract
from vtr_core.extraction.features import choose


def test_all_ways_and_the_page(tmp_path: Path) -> None:
    uris = [extract.long_film(tmp_path / f"{n}.mp4", 3, n) for n in range(2)]
    chosen = choose(("imagenet-lite",), {})
    spent = extract.compare(uris, chosen, 1, 1, ray=False)
    assert all(value >= 0 for value in spent.values())
    _, chunks = extract.bare_decoding(uris, chosen)
    assert [len(chunk.values) for chunk in chunks] == [3, 3]
    figures = {
        "spent": spent,
        "memory": {"a video of 300 s": {"process": 0.5, "decoder": 0.25}},
        "videos": 2,
        "recipes": ["imagenet-lite"],
        "repeats": 1,
        "cores": 1,
        "processor": "a machine",
        "versions": {"av": "18", "torch": "2"},
        "command": "it",
    }
    page = extract.markdown(figures)
    assert "| a video of 300 s | 0.50 | 0.25 |" in page
    assert f"reaches **{spent['share_of_limit']:.2f}** of it" in page
