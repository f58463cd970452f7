"""Models of every system as they are registered, with fresh weights, written without a store."""

from pathlib import Path

import torch

from vtr_core.config.override import override
from vtr_core.run.build import build_model
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.siamese.config import SiameseConfig
from vtr_core.text.concepts import ConceptNames
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.tracking.models.model_folder import DATA, keep_files, write_model
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint

PRESETS = ("capsule-howto-tiny", "hybrid-msrvtt-tiny", "muse-msrvtt-tiny", "siamese-att-tiny", "caption-msrvtt-tiny")
WORDS = ("person", "cooks", "rice")
_SIZES = {
    "hybrid-msrvtt-tiny": {"model.num_concepts": 2},
    "caption-msrvtt-tiny": {"model.hidden_dim": 8, "model.heads": 2, "model.mlp_dim": 16, "model.standardize": False},
}


def written_model(folder: Path, name: str) -> Path:
    """The folder of a model of the preset `name`."""
    folder.mkdir()
    inputs = {"features": {"video": 4}, "num_words": len(WORDS), "word_dim": 5}
    config = override(preset(name), {"model.inputs": inputs, **_SIZES.get(name, {})})
    words = Vocabulary(WORDS)
    if isinstance(config.model, SiameseConfig):
        config, words = (
            override(preset(name), {"model.image": {"height": 24, "width": 24, "channels": 1}}),
            Vocabulary(()),
        )
    torch.manual_seed(0)
    weights = {name: value.contiguous() for name, value in build_model(config.model).state_dict().items()}
    concepts = ConceptNames(("cook", "rice"), "f") if name.startswith("hybrid") else None
    place = locate(folder / "saved")
    save_checkpoint(place, Checkpoint(config, weights, {}, Progress(step=7), words, concepts=concepts))
    kept = keep_files(place, folder / DATA)
    write_model(folder, config, kept.copied, run_id="0" * 32, model_id=f"m-{'0' * 32}")
    return folder / "model"
