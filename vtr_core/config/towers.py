"""Image encoders (towers) of Siamese networks, and their dropout: a class per tower, and the tagged union."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat

from vtr_core.config.settings import PositiveInt, Probability, Settings

Nonlinearity = Literal["tanh", "squash"]


Couplings = Literal["outputs", "inputs"]


class PlainDropout(Settings):
    """Dropout at one rate on every layer of the tower but the last."""

    kind: Literal["plain"] = "plain"
    rate: Probability = 0.2
    """Probability of dropping a value."""


class ConcreteDropout(Settings):
    """Plain dropout below the face capsules, and on these a rate that each capsule learns (Gal et al. 2017)."""

    kind: Literal["concrete"] = "concrete"
    rate: Probability = 0.2
    """Dropout rate of the layers below."""
    initial_rate: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.1
    """The rate of every face capsule before training."""
    temperature: PositiveFloat = 0.1
    """Temperature t of the relaxed mask; smaller values make it closer to binary."""
    weight_penalty: NonNegativeFloat = 1e-4
    """Weight of the squared weights that read a capsule, over 1 − p."""
    entropy_penalty: NonNegativeFloat = 1e-3
    """Weight of the negative entropy of the capsules' dropout rates, which draws them towards 1/2."""
    compat: Literal["none", "paper"] = "none"
    """`paper`: Equations 2 and 3 as printed: the temperature divides the logit of p alone, and entropy is added with
    the sign that drives it down."""


DropoutConfig = Annotated[PlainDropout | ConcreteDropout, Field(discriminator="kind")]


class CapsuleTower(Settings):
    """Convolution, primary capsules, face capsules by routing (Siamese Capsule Networks, section 4)."""

    kind: Literal["capsules"] = "capsules"
    channels: PositiveInt = 256
    """Channels of the first convolution, 9 × 9 with stride 3."""
    primary_types: PositiveInt = 32
    """Primary capsules per grid position."""
    primary_dim: PositiveInt = 8
    """Pose dimension of the primary capsules: one convolution (9 × 9, stride 2) per dimension."""
    num_face_capsules: PositiveInt = 32
    """Number of face capsules: 32 as in the text (512 inputs to the last layer); 10 gives the published parameter
    count, 5,898,240."""
    face_dim: PositiveInt = 16
    """Pose dimension of a face capsule."""
    iterations: PositiveInt = 4
    """Number of routing iterations: 4 on AT&T, 6 on LFW."""
    couplings: Couplings = "outputs"
    """Axis of the softmax of the routing coefficients: the face capsules of a primary capsule, or (`inputs`) the
    primary capsules of a face capsule."""
    nonlinearity: Nonlinearity = "tanh"
    """Nonlinearity of the poses: elementwise tanh, or squashing (Sabour et al.)."""
    dropout: DropoutConfig = PlainDropout()
    reconstruction_weight: NonNegativeFloat = 0.0
    """Weight λ of the squared error of the reconstruction from the face capsules; 0: no decoder."""


class LeNetTower(Settings):
    """LeNet-5's two convolutions and two layers (LeCun et al. 1998), with ReLU and maximum pooling."""

    kind: Literal["lenet"] = "lenet"
    dropout: Probability = 0.2
    """Dropout rate before each fully connected layer but the last."""


class AlexNetTower(Settings):
    """AlexNet's five convolutions and two layers (Krizhevsky et al. 2012), of one column."""

    kind: Literal["alexnet"] = "alexnet"
    hidden_dim: PositiveInt = 4096
    """Width of the fully connected layers."""
    dropout: Probability = 0.2
    """Dropout rate before each fully connected layer but the last."""


class ResNetTower(Settings):
    """ResNet-34 (He et al. 2016)."""

    kind: Literal["resnet34"] = "resnet34"
    dropout: Probability = 0.2
    """Dropout rate of the pooled features."""


class InceptionTower(Settings):
    """InceptionV3 (Szegedy et al. 2016) with six inception modules, as the paper's baseline."""

    kind: Literal["inception_v3"] = "inception_v3"
    dropout: Probability = 0.2
    """Dropout rate of the pooled features."""


TowerConfig = Annotated[
    CapsuleTower | LeNetTower | AlexNetTower | ResNetTower | InceptionTower, Field(discriminator="kind")
]
