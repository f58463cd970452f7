"""The optimiser, its learning rate and its schedule."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings

Share = Annotated[float, Field(gt=0.0, le=1.0)]


class OptimizerConfig(Settings):
    """Adam with an optional warm-up and a schedule over all steps."""

    algorithm: Literal["adam", "bert_adam"] = "adam"
    """`bert_adam`: Adam without bias corrections, as BERT was trained (Devlin et al. 2019) and CLIP4Clip is."""
    learning_rate: PositiveFloat = 1e-3
    """Peak learning rate: that after the warm-up, before the schedule lowers it."""
    learner_factor: PositiveFloat = 1.0
    """Factor of the learning rate for modules over precomputed tokens: MUSE's pyramid, temporal scales and learner."""
    backbone_factor: PositiveFloat = 1.0
    """Factor of the learning rate for a backbone that is trained with the model, such as CLIP or Video Swin."""
    language_factor: PositiveFloat = 1.0
    """Factor of the learning rate for a captioner's words, their places, its transformer and the scores of words: what
    `vtr import bert` gives weights.
    """
    layer_decay: Share = 1.0
    """Factor of the backbone's learning rate for each layer further from its output."""
    beta1: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.9
    """Decay of Adam's mean of gradients."""
    beta2: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.999
    """Decay of Adam's mean of squared gradients."""
    epsilon: PositiveFloat = 1e-8
    """Added to the root of that mean."""
    temperature_factor: PositiveFloat = 1.0
    """Factor of the learning rate for a learned log(1/τ): one number that has to go from 100 to 10 or back within a
    training, while a step of Adam moves it by the learning rate alone."""
    full_rate_width: PositiveInt | None = None
    """Fan-in up to which a matrix has the full learning rate; a wider one has the rate times this over its fan-in, so
    that a step of Adam changes its outputs by about as much (Yang et al. 2022, Table 3). None: one rate for all."""
    weight_decay: NonNegativeFloat = 0.0
    """Decoupled weight decay (AdamW)."""
    amsgrad: bool = False
    """AMSGrad: divide by the running maximum of the second moment (Reddi et al. 2018)."""
    schedule: Literal["constant", "cosine", "inverse_sqrt", "bert_cosine"] = "cosine"
    """`inverse_sqrt`: the rate over √t, t the steps since the warm-up, counted from 1. `bert_cosine`: as published with
    BERT's Adam, a warm-up from 0 and then the cosine over all steps, which is below the rate when it takes over."""
    warmup_steps: NonNegativeInt = 0
    """Steps at the start over which the learning rate rises linearly to its peak."""
    warmup_share: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """The warm-up as a share of all steps, instead of `warmup_steps`."""
    epoch_decay: Share = 1.0
    """Factor of the learning rate after every `decay_epochs` epochs, beside the schedule."""
    decay_epochs: PositiveInt = 1
    """Number of epochs after which the learning rate is multiplied by `epoch_decay`, each time anew."""
    plateau_decay: Share = 1.0
    """Factor of the learning rate after `plateau_patience` validations without a gain at the same rate."""
    plateau_patience: PositiveInt | None = None
    """Validations without a gain after which the rate is multiplied by `plateau_decay` (None: never)."""
    plateau: Literal["flat", "old_rate"] = "flat"
    """`old_rate`: it is multiplied at the first validation that is not the best once the rate is `plateau_patience`
    validations old, gains counted too, as in the published code of dual encoding (Dong et al. 2021)."""
    gradient_clip: PositiveFloat | None = None
    """Maximum norm of the whole gradient."""
    parameter_clip: PositiveFloat | None = None
    """Maximum norm of each parameter's gradient, after `gradient_clip`."""

    @model_validator(mode="after")
    def _fits(self) -> "OptimizerConfig":
        if self.amsgrad and self.algorithm == "bert_adam":
            raise ValueError("amsgrad is an option of algorithm = adam; leave it out with bert_adam")
        if self.warmup_steps and self.warmup_share is not None:
            raise ValueError(
                f"warmup_steps = {self.warmup_steps} and warmup_share = {self.warmup_share} are two lengths of one "
                "warm-up; give one of them"
            )
        return self

    def warmup(self, total_steps: int) -> float:
        """The length of the warm-up in steps."""
        return self.warmup_steps if self.warmup_share is None else self.warmup_share * total_steps


CLIP4CLIP_ADAM: Mapping[str, Any] = MappingProxyType(
    {
        "algorithm": "bert_adam",
        "beta2": 0.98,
        "epsilon": 2e-6,
        "schedule": "bert_cosine",
        "warmup_share": 0.1,
        "gradient_clip": 2.0,
        "parameter_clip": 2.0,
    }
)
"""As in CLIP4Clip's published code (Luo et al. 2021), whose ε is 1e-6 and whose norms are 1: its loss is the mean of
both cross-entropies and not their sum, so its gradients are half as long."""
