"""What MUSE goes without equals a model that never had it, with the same weights; afterwards all is as it was."""

import pytest
import torch

from vtr_core.config.override import ModelInputs
from vtr_core.config.towers import MambaLearner
from vtr_core.systems.muse.config import MuseConfig
from vtr_core.systems.muse.model import Muse
from vtr_core.systems.muse.task import knock_outs

DIM = 8
GRIDS = MuseConfig(
    inputs=ModelInputs(features={"video": 10 * DIM, "text": DIM}),
    grid=3,
    scales=(1, 2, 3),
    temporal_scales=(2, 3),
    learner=MambaLearner(layers=2, state=4),
)
MASK = torch.tensor([[True, True, True, True], [True, True, False, False]])
LEFT = {
    "scale-2": {"scales": (1, 3)},
    "scale-3": {"scales": (1, 2)},
    "time-3": {"temporal_scales": (2,)},
}


def _model(**changes: object) -> Muse:
    torch.manual_seed(0)
    return Muse(GRIDS.model_copy(update=changes)).double()


def _video(model: Muse) -> torch.Tensor:
    tokens = torch.randn(2, 4, 10 * DIM, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return model.video(*model.split(tokens), MASK)


@pytest.mark.parametrize("name", LEFT)
def test_without_a_scale_its_tokens_are_as_if_they_were_never_made(name: str) -> None:
    model, smaller = _model(), _model(**LEFT[name])
    smaller.load_state_dict({key: value for key, value in model.state_dict().items() if key in smaller.state_dict()})
    before = _video(model)
    with knock_outs(model)[name]():
        torch.testing.assert_close(_video(model), _video(smaller))
        assert not torch.equal(_video(model), before)
    assert torch.equal(_video(model), before)


def test_without_the_backward_scan_a_frame_knows_those_before_it_alone() -> None:
    model = _model()
    forward = _model(learner=MambaLearner(layers=2, state=4, scan="none"))
    forward.load_state_dict({key: value for key, value in model.state_dict().items() if key in forward.state_dict()})
    forward._kept_last = False  # the order of the tokens stays that of the trained model
    before = _video(model)
    with knock_outs(model)["backward"]():
        assert torch.equal(_video(model), _video(forward))
    assert torch.equal(_video(model), before)


def test_without_the_learner_a_video_is_the_mean_of_directions() -> None:
    model, still = _model(), _model(initial_gate=0.0)
    with knock_outs(model)["learner"]():
        torch.testing.assert_close(_video(model), _video(still))


def test_each_model_offers_what_it_has() -> None:
    assert set(knock_outs(_model())) == {"learner", "scale-2", "scale-3", "time-2", "time-3", "backward"}
    alone = _model(scales=(1, 2), temporal_scales=(), learner=MambaLearner(layers=1, scan="none"))
    assert set(knock_outs(alone)) == {"learner", "scale-2"}
