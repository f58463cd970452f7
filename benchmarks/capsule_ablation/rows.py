"""The rows of Tables 3 and 5, what each one's search tries, and the orders that the paper claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.comparison.paired import Difference, paired

PRESET = "capsule-howto-tiny"


@dataclass(frozen=True)
class Network:
    """A row of Tables 3 and 5: which variant of the preset, with which changes."""

    what: str
    """With the paper's R@1 and R@10 on YouCook2 in brackets."""
    variant: str = ""
    changes: Mapping[str, object] = field(default_factory=dict)


_SECONDARY = {"model.projected_poses": "secondary"}
ROWS: Mapping[str, Network] = {
    "routing-none": Network("no routing (15.3, 41.9)", "routing-none"),
    "routing-none-secondary": Network("no routing, secondary poses", "routing-none", _SECONDARY),
    "routing-dynamic": Network("dynamic (17.0, 44.3)", "routing-dynamic"),
    "routing-dynamic-sum": Network(
        "dynamic, agreement summed as published", "routing-dynamic", {"model.routing.agreement": "sum"}
    ),
    "routing-em": Network("EM (5.8, 24.2)", "routing-em"),
    "routing-em-sum": Network("EM, density summed as published", "routing-em", {"model.routing.density": "sum"}),
    "routing-set-transformer": Network("set transformer (16.5, 40.0)", "routing-set-transformer"),
    "routing-self-attention": Network("self-attention (18.6, 44.0)", "routing-self-attention"),
    "routing-self-attention-secondary": Network(
        "self-attention, secondary poses", "routing-self-attention", _SECONDARY
    ),
    "fully-connected": Network("fully connected, no capsules (15.5, 40.0)", "fully-connected"),
    "self-attention": Network("self-attention over tokens, no capsules (13.8, 36.2)", "self-attention"),
    "base": Network("capsules of the base preset (19.3, 47.3)"),
    "base-carried": Network(
        "the base preset, presence carried, γ = 2", changes={"model.routing.carried_presence": 2.0}
    ),
}
"""By name, in the order of Tables 3 and 5."""
TRIALS: Mapping[str, Mapping[str, object]] = {
    f"{weights}, {rate:g}": {
        "model.initialization": weights,
        "optimizer.learning_rate": rate,
        "optimizer.warmup_steps": 20,
        "optimizer.gradient_clip": 5.0,
    }
    for weights in ("scaled", "torch")
    for rate in (3e-4, 1e-3, 3e-3, 1e-2)
}
"""What every row's search tries: initial weights and learning rate."""
CLAIMS = (
    ("routing-self-attention", "routing-dynamic"),
    ("routing-dynamic", "routing-none"),
    ("routing-self-attention", "routing-none"),
    ("routing-self-attention", "routing-set-transformer"),
    ("routing-self-attention", "routing-em"),
    ("routing-self-attention-secondary", "routing-dynamic"),
    ("routing-dynamic", "routing-none-secondary"),
    ("routing-self-attention-secondary", "routing-none-secondary"),
    ("routing-self-attention-secondary", "routing-set-transformer"),
    ("routing-self-attention-secondary", "routing-em"),
    ("routing-dynamic", "routing-dynamic-sum"),
    ("routing-em", "routing-em-sum"),
    ("base", "fully-connected"),
    ("base", "self-attention"),
    ("base-carried", "base"),
)
"""(better, worse) as the paper has it, and what this project adds to it."""


def compare(figures: Mapping[str, Sequence[float]]) -> list[Difference]:
    """The paired differences of every claim that has figures; the same seed has the same batches in both rows."""
    pairs = [(a, b, figures.get(a, ()), figures.get(b, ())) for a, b in CLAIMS]
    return [paired(a, b, u, v) for a, b, u, v in pairs if u and v]
