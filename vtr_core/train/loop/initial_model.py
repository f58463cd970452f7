"""A run's initial model: drawn from its seed, or with the weights of a backbone or of another model."""

import numpy as np
import torch
from torch import nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.statistics import feature_statistics
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.models import system_of
from vtr_core.text.concepts.names import ConceptNames
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.initial import Fitting, fitting, start_from
from vtr_core.train.checkpoint.load import load_model


def initial_model(config: TrainConfig, data: Manifest, vectors: np.ndarray | None, standardize: bool) -> nn.Module:
    """A model drawn from the seed of `config`, equal on all workers.

    standardize: whether a model that standardizes features gets the statistics of `data`, for which every worker reads
    the same part; when resuming, the checkpoint has them.
    """
    system = system_of(config.model)
    wanted, read = standardize and system.standardizes(config.model), system.reads_features(config.model)
    statistics = feature_statistics(data, on_bad_shard=config.on_bad_shard, names=read) if wanted else None
    torch.manual_seed(config.seed)
    return build_model(config.model, vectors, statistics)


def given_weights(
    model: nn.Module, config: TrainConfig, words: Vocabulary, concepts: ConceptNames | None, init: str | None
) -> Fitting | None:
    """Load the weights of its backbone into a new model, then those of the model `init`; returns which of these fit."""
    system_of(config.model).implementation().pretrained(model)
    if init is None:
        return None
    given = load_model(init)
    fits = fitting(config, words, concepts, given)
    start_from(model, given, fits)
    return fits
