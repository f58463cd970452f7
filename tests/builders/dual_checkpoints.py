"""Small checkpoints for searching and explaining, of every kind of model."""

from pathlib import Path

import torch

from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.word_table import WordTable
from vtr_core.run.build import build_model
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.text.concepts import ConceptNames
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint

CONCEPTS = ("number", "video", "<b>caption</b>")


def dual_checkpoint(folder: Path, data: Manifest, changes: dict[str, object] | None = None, seed: int = 0) -> str:
    """A dual encoder of a latent space of 4 dimensions and 3 concepts, for `data`."""
    sizes = {"model.latent_dim": 4, "model.num_concepts": 3, **(changes or {})}
    names = ConceptNames(CONCEPTS, "f") if sizes["model.num_concepts"] is not None else None
    return saved_checkpoint(folder, data, "hybrid-msrvtt-tiny", sizes, names, seed)


def capsule_checkpoint(folder: Path, data: Manifest, similarity: str = "dot", variant: str = "") -> str:
    """A capsule network for `data`, or a variant of it."""
    capsules = {} if variant else {"model.num_capsules": 4}
    sizes = {**capsules, "model.embedding_dim": 4, "model.words.hidden_dim": 4, "evaluation.similarity": similarity}
    return saved_checkpoint(folder, data, "-".join(filter(None, ("capsule-howto-tiny", variant))), sizes)


def saved_checkpoint(
    folder: Path,
    data: Manifest,
    name: str,
    changes: dict[str, object] | None = None,
    concepts: ConceptNames | None = None,
    seed: int = 0,
) -> str:
    """A checkpoint of fresh weights at step 7 of a preset with `changes`, for `data`."""
    torch.manual_seed(seed)
    config = with_inputs(override(preset(name), {"seed": seed, **(changes or {})}), data)
    model = build_model(config.model).state_dict()
    words = WordTable.load(data).vocabulary
    save_checkpoint(locate(str(folder)), Checkpoint(config, model, {}, Progress(step=7), words, concepts=concepts))
    return str(folder)


def captioner_checkpoint(folder: Path, data: Manifest) -> str:
    """A captioner for `data`."""
    return saved_checkpoint(folder, data, "caption-msrvtt-tiny")
