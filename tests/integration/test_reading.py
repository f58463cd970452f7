"""What Ray Data delivers is what the plan says, for any number of workers and from any step."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from vtr_core.config.train import BatchConfig
from vtr_core.data.assemble import Columns, RowGroupReader, assemble, training_columns
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.data.reading import Part, stream

pytestmark = pytest.mark.integration
STEPS = 11


@pytest.fixture(scope="module")
def manifest(world: Path) -> Manifest:
    return Manifest.load(str(world / "train"))


def planned(manifest: Manifest) -> tuple[Plan, RowGroupReader]:
    plan = Plan(manifest, BatchConfig(videos=16, clips_per_video=3, window=2), seed=5)
    return plan, RowGroupReader(manifest, training_columns(manifest.schema))


def expected(manifest: Manifest) -> list[Columns]:
    """The batches of the first steps, read in this process."""
    plan, reader = planned(manifest)
    batches = [batch for number in range(STEPS) for batch in plan.window(number)][:STEPS]
    return list(assemble(reader, plan.row_groups, batches))


def streamed(manifest: Manifest, part: Part, first_step: int) -> list[Columns]:
    plan, reader = planned(manifest)
    return list(islice(stream(reader, plan, part, first_step), STEPS - first_step))


@pytest.mark.parametrize(("world_size", "first_step"), [(1, 0), (2, 3), (3, 7)])
def test_the_stream_is_the_plan(manifest: Manifest, world_size: int, first_step: int) -> None:
    whole = expected(manifest)
    parts = [streamed(manifest, Part(rank, world_size), first_step) for rank in range(world_size)]
    for offset, of_all in enumerate(zip(*parts, strict=True)):
        step = first_step + offset
        assert {int(batch["step"][0]) for batch in of_all} == {step}
        for name, values in whole[step].items():
            together = np.concatenate([batch[name] for batch in of_all])
            assert together.dtype == values.dtype
            np.testing.assert_array_equal(together, values)
