"""The model that a configuration names."""

from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.errors import ConfigError
from vtr_core.run.models import ModelConfig
from vtr_core.systems.capsules.config import CapsuleNetConfig, FullyConnectedConfig, SelfAttentionBaselineConfig
from vtr_core.systems.capsules.fully_connected import FullyConnected
from vtr_core.systems.capsules.model import CapsuleNet
from vtr_core.systems.capsules.self_attention_baseline import SelfAttentionBaseline
from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.captioning.model import Captioner
from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.systems.muse.config import MuseConfig
from vtr_core.systems.muse.model import Muse
from vtr_core.systems.siamese.config import SiameseConfig
from vtr_core.systems.siamese.model import Siamese


def build_model(
    config: ModelConfig,
    word_vectors: Float32[np.ndarray, "words word_dim"] | None = None,
    statistics: Mapping[str, FeatureStatistics] | None = None,
) -> nn.Module:
    """A module from a batch to `Embeddings`, its fresh weights drawn from torch's global generator.

    word_vectors: given vectors of the vocabulary's words; without them a model learns its own, if it reads words.
    statistics: of the training data's features, for a model that standardises them; a checkpoint has them already.
    A captioner has vectors of its own for the words that it says, whatever is given.
    Raises ConfigError where the parts of `config` do not fit together.
    """
    model = _fresh(config)
    if isinstance(model, Siamese):
        return model
    if isinstance(model, Captioner):
        if statistics is not None:
            model.load_statistics(statistics)
        return model
    words = model.words if isinstance(model, HybridEncoder | Muse) else model.inputs
    if word_vectors is not None and words is not None:
        words.load_word_vectors(torch.from_numpy(word_vectors.copy()))
    if statistics is not None:
        assert not isinstance(model, HybridEncoder | Muse), "a model of whole videos takes features as they are"
        model.inputs.load_statistics(statistics)
    return model


def check_model(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The shapes of the model's weights and buffers by name, without making any of them.

    Raises ConfigError where the parts of `config` do not fit together.
    """
    try:
        with torch.device("meta"), _Unfilled():
            return {name: tuple(tensor.shape) for name, tensor in _fresh(config).state_dict().items()}
    except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as error:  # sizes and names torch cannot take
        raise ConfigError(f"the model cannot be built: {error}") from error


class _Unfilled(TorchFunctionMode):
    """Draws no normal numbers: for those of the meta device torch imports its compiler, a second or more."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if func in (nn.init.normal_, Tensor.normal_):
            return args[0] if args else given["tensor"]
        return func(*args, **given)


_Model = CapsuleNet | FullyConnected | SelfAttentionBaseline | HybridEncoder | Muse | Siamese | Captioner


def _fresh(config: ModelConfig) -> _Model:
    match config:
        case CapsuleNetConfig():
            return CapsuleNet(config)
        case FullyConnectedConfig():
            return FullyConnected(config)
        case SelfAttentionBaselineConfig():
            return SelfAttentionBaseline(config)
        case HybridEncoderConfig():
            return HybridEncoder(config)
        case MuseConfig():
            return Muse(config)
        case SiameseConfig():
            return Siamese(config)
        case CaptionerConfig():
            return Captioner(config)
        case _:
            assert_never(config)
