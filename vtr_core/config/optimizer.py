"""The optimiser, its learning rate and its schedule."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat

from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings

Share = Annotated[float, Field(gt=0.0, le=1.0)]


class OptimizerConfig(Settings):
    """Adam with an optional warm-up and a schedule over all steps."""

    learning_rate: PositiveFloat = 1e-3
    learner_factor: PositiveFloat = 1.0
    """Factor of the learning rate for modules over precomputed tokens: MUSE's pyramid, temporal scales and learner."""
    backbone_factor: PositiveFloat = 1.0
    """Factor of the learning rate for a pretrained backbone that is trained with the model, such as CLIP."""
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
    schedule: Literal["constant", "cosine", "inverse_sqrt"] = "cosine"
    """`inverse_sqrt`: the rate over √t, t the steps since the warm-up, counted from 1."""
    warmup_steps: NonNegativeInt = 0
    epoch_decay: Share = 1.0
    """Factor of the learning rate after every `decay_epochs` epochs, beside the schedule."""
    decay_epochs: PositiveInt = 1
    plateau_decay: Share = 1.0
    """Factor of the learning rate after `plateau_patience` validations without a gain at the same rate."""
    plateau_patience: PositiveInt | None = None
    plateau: Literal["flat", "old_rate"] = "flat"
    """`old_rate`: it is multiplied at the first validation that is not the best once the rate is `plateau_patience`
    validations old, gains counted too, as in the published code of dual encoding (Dong et al. 2021)."""
    gradient_clip: PositiveFloat | None = None
    """Maximum norm of the whole gradient."""
