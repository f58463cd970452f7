"""A schema of another kind than needed is refused with how the needed one is made."""

import pytest

from tests.data.records.test_schema import KINDS
from vtr_core.data.records.schema import require_clips, require_steps
from vtr_core.errors import SchemaMismatch


def test_clips_are_required() -> None:
    clips, videos, steps = KINDS
    assert require_clips(clips, "x") is clips
    with pytest.raises(SchemaMismatch, match=r"x is steps/1.*--task localization"):
        require_clips(steps, "x")
    with pytest.raises(SchemaMismatch, match=r"x is videos/1.*--records clips"):
        require_clips(videos, "x")


def test_steps_are_required() -> None:
    clips, videos, steps = KINDS
    assert require_steps(steps, "x") is steps
    for other in (clips, videos):
        with pytest.raises(SchemaMismatch, match=rf"x is {other.label()}, localisation reads steps/1"):
            require_steps(other, "x")
