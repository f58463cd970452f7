import torch

from benchmarks import scan

FLAGS = scan.Flags(lengths=(3, 40), rows=2, dim=4, state=3, loop_up_to=10, repeats=1)
CPU = torch.device("cpu")


def test_all_scans_compute_the_same():
    torch.manual_seed(0)
    steps, weights = torch.randn(2, 2, 4, 9), torch.randn(2, 2, 3, 9)
    arguments = [*steps, -torch.rand(4, 3), *weights]
    torch.testing.assert_close(scan.loop(*arguments), scan.reference(*arguments), atol=1e-5, rtol=1e-5)


def test_the_loop_leaves_out_long_sequences():
    found = scan.compare(FLAGS, CPU)
    assert {length: set(scans) for length, scans in found.items()} == {"3": {"reference", "loop"}, "40": {"reference"}}
    assert found["3"]["loop"]["loop_to_it"] == 1.0
    assert all(figures["peak_gb"] > 0 for scans in found.values() for figures in scans.values())


def test_the_page_says_where_the_loop_is_missing():
    figures = {"seconds": 0.5, "peak_gb": 0.25, "loop_to_it": 2.0}
    page = scan.markdown(
        {
            "lengths": {"3060": {"reference": figures}, "12240": {"reference": figures | {"loop_to_it": None}}},
            "rows": 16,
            "dim": 512,
            "state": 16,
            "device": "a machine",
            "versions": {"torch": "2"},
            "command": "it",
        }
    )
    assert "| 3,060 | reference | 0.500 | 2.0 | 0.25 |" in page
    assert "| 12,240 | reference | 0.500 | – | 0.25 |" in page
