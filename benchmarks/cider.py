"""How long CIDEr-D of many captions takes, beside plain code: `python -m benchmarks.cider`.

Captions are drawn from a vocabulary with Zipf's frequencies, 20 references to a video, as MSR-VTT has them.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from benchmarks.machine import processor, versions
from tests.reference import captioning as plain
from vtr_core.metrics.captioning import cider

REFERENCES, WORDS, VOCABULARY = 20, 9, 20_000


def world(videos: int, seed: int) -> tuple[dict[str, str], dict[str, list[str]]]:
    """A hypothesis and REFERENCES captions of every video."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, VOCABULARY + 1)
    drawn = rng.choice(VOCABULARY, (videos, REFERENCES + 1, WORDS), p=frequency / frequency.sum()).astype(str)
    texts = [[" ".join(words) for words in video] for video in drawn]
    return {str(i): own[0] for i, own in enumerate(texts)}, {str(i): own[1:] for i, own in enumerate(texts)}


def seconds(compute: Callable[[], object]) -> float:
    """Processor time of a call."""
    start = time.process_time()
    compute()
    return time.process_time() - start


def main() -> None:
    """Print processor seconds for growing numbers of references."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, nargs="+", default=[2_000, 20_000, 200_000])
    parser.add_argument("--plain", type=int, default=20_000, help="the most references that plain code is given")
    flags = parser.parse_args()
    print(processor(), versions("numpy"))
    print(f"{'references':>12}{'ours, s':>12}{'plain, s':>12}")
    for references in flags.references:
        hypotheses, texts = world(references // REFERENCES, seed=0)
        ours = seconds(lambda h=hypotheses, r=texts: cider(h, r))
        slow = seconds(lambda h=hypotheses, r=texts: plain.cider(h, r)) if references <= flags.plain else float("nan")
        print(f"{references:>12}{ours:>12.2f}{slow:>12.2f}")


if __name__ == "__main__":
    main()
