"""What a command says of a model whose system lacks what it needs."""

from torch import nn

from vtr_core.run.presets import preset
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.loaded_model import lacking
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import Progress
from vtr_core.train.checkpoint.trained_model import LoadedModel


def test_it_names_the_models_that_have_it_and_what_there_is_for_this_one() -> None:
    loaded = LoadedModel(nn.Identity(), preset("muse-msrvtt"), Vocabulary(()), {}, Progress(), "runs/x", SYSTEMS)
    error = lacking(loaded, "vtr verify", lambda system: system.implementation().decide is not None)
    assert str(error) == (
        "runs/x is of a 'muse' model, for which there are vtr evaluate, vtr index, vtr search and vtr explain; "
        "vtr verify needs one of 'siamese', such as vtr train siamese-att makes"
    )
