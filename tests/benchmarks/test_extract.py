"""The benchmark of extraction measures the same videos three ways and says where memory goes."""

from pathlib import Path

from benchmarks import extract
from vtr_core.extraction.chosen import choose


def test_all_ways_and_the_page(tmp_path: Path) -> None:
    uris = [extract.long_film(tmp_path / f"{n}.mp4", 3, n) for n in range(2)]
    chosen = choose(("imagenet-lite",), {})
    found = extract.compare(uris, chosen, 1, repeats=1)
    assert all(value > 0 for value in found.values())
    _, chunks = extract.bare_decoding(uris, chosen)
    assert [len(chunk.values) for chunk in chunks] == [3, 3]
    memory = {"process": 0.5, "decoder": 0.25}
    page = extract.markdown(
        {
            "found": found,
            "memory": {"short": memory, "long": memory},
            "videos": 2,
            "recipes": ["imagenet-lite"],
            "cores": 1,
            "processor": "a machine",
            "versions": {"av": "18", "torch": "2"},
            "command": "it",
        }
    )
    assert "| a video of 300 s | 0.50 | 0.25 |" in page
