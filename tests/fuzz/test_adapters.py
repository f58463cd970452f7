"""Every adapter meets damaged input: it is used, dropped and counted, or refused with the file named."""

import shutil
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.mutations import clear, damage
from tests.fuzz.oracle import Tally, memory_limit
from tests.fuzz.worlds import WORLDS, ingest

pytestmark = pytest.mark.linux  # memory_limit


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 200), marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize("name", WORLDS)
def test_adapter(name: str, seeds: range, tmp_path: Path) -> None:
    world, tally = WORLDS[name], Tally()
    (tmp_path / "valid").mkdir()
    world.write(tmp_path / "valid")
    ingest(world.source(tmp_path / "valid"), tmp_path / "out", strict=True)
    with memory_limit():
        for seed in seeds:
            random = Random(f"{name} {seed}")
            root = _copy(tmp_path, seed)
            done = damage(root, random)
            source, out, strict = world.source(root), root.parent / "out", random.random() < 0.5
            tally.run(f"{seed} {done.change} {done.file}", partial(ingest, source, out, strict), str(root))
            assert sorted(path.name for path in root.parent.iterdir()) in (["in"], ["in", "out"])
            clear(root.parent)
    tally.check(len(seeds))


def _copy(folder: Path, seed: int) -> Path:
    root = folder / str(seed) / "in"
    shutil.copytree(folder / "valid", root)
    return root
