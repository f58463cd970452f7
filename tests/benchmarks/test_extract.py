"""The benchmark of extraction measures the same videos three ways and says where memory goes."""

from pathlib import Path

from benchmarks import extract
from vtr_core.extraction.networks import choose


def test_all_ways_and_the_page(tmp_path: Path) -> None:
    uris = [extract.long_film(tmp_path / f"{n}.mp4", 3, n) for n in range(2)]
    chosen = choose(("imagenet-lite",), {})
    found = extract.compare(uris, chosen, 1, 1, {}, ray=False)
    assert all(value >= 0 for value in found.values())
    _, chunks = extract.bare_decoding(uris, chosen)
    assert [len(chunk.values) for chunk in chunks] == [3, 3]
    figures = {
        "found": found,
        "memory": {"a video of 300 s": {"process": 0.5, "decoder": 0.25}},
        "videos": 2,
        "recipes": ["imagenet-lite"],
        "repeats": 1,
        "peers": [],
        "cores": 1,
        "processor": "a machine",
        "versions": {"av": "18", "torch": "2"},
        "command": "it",
    }
    page = extract.markdown(figures)
    assert "| a video of 300 s | 0.50 | 0.25 |" in page
    assert "Other extractors were not compared." in page
    ours = {"ours_s": 1.0, "ours_processor_s": 2.0}
    names = {"_s": 2.0, "_processor_s": 3.0, "_rows": 6.0, "_times": 2.0, "_times_processor": 1.5}
    others = {f"Curator{name}": value for name, value in names.items()}
    page = extract.markdown({**figures, "found": {**found, **ours, **others}, "peers": ["Curator"]})
    assert "| Curator | 2.0 | 3.0 | 2.00 | 1.50 |" in page
    assert "**1.50** times as fast as the best" in page
