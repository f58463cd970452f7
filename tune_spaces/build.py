"""A space by its name."""

import difflib
import textwrap

from vtr_core.config.domains import describe
from vtr_core.errors import ConfigError
from vtr_core.run.space import Space
from vtr_core.systems.capsules import space as capsules
from vtr_core.systems.captioning import space as captioning
from vtr_core.systems.dual import space as dual_encoding
from vtr_core.systems.muse import space as muse
from vtr_core.systems.siamese import space as siamese

SPACES = (
    "capsule-howto",
    "capsule-howto-tiny",
    "capsule-msrvtt",
    "hybrid-msrvtt",
    "hybrid-msrvtt-tiny",
    "latent-dimensions",
    "concept-dimensions",
    "muse-msrvtt",
    "muse-msrvtt-tiny",
    "siamese-att",
    "siamese-att-tiny",
    "caption-msrvtt",
    "caption-msrvtt-tiny",
)


def build_space(name: str) -> Space:
    """The space `name`; ConfigError lists the known ones."""
    match name:
        case "capsule-howto":
            return capsules.howto()
        case "capsule-howto-tiny":
            return capsules.howto_tiny()
        case "capsule-msrvtt":
            return capsules.msrvtt()
        case "hybrid-msrvtt":
            return dual_encoding.msrvtt()
        case "hybrid-msrvtt-tiny":
            return dual_encoding.msrvtt_tiny()
        case "latent-dimensions":
            return dual_encoding.latent_dimensions()
        case "concept-dimensions":
            return dual_encoding.concept_dimensions()
        case "muse-msrvtt":
            return muse.msrvtt()
        case "muse-msrvtt-tiny":
            return muse.msrvtt_tiny()
        case "siamese-att":
            return siamese.att()
        case "siamese-att-tiny":
            return siamese.att_tiny()
        case "caption-msrvtt":
            return captioning.msrvtt()
        case "caption-msrvtt-tiny":
            return captioning.msrvtt_tiny()
        case _:
            close = difflib.get_close_matches(name, SPACES, n=1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise ConfigError(f"there is no space {name!r}; {hint}spaces: {', '.join(SPACES)}")


def describe_spaces() -> str:
    """The spaces and what each varies, for people."""
    return "\n".join(
        textwrap.fill(
            f"  {name:20}{', '.join(build_space(name).parameters)}",
            width=110,
            subsequent_indent=" " * 22,
            break_on_hyphens=False,
        )
        for name in SPACES
    )


def describe_space(space: Space) -> str:
    """The settings of a space with their values, one a line."""
    width = max(map(len, space.parameters)) + 2
    lines = []
    for name, parameter in space.parameters.items():
        only = parameter.only_with
        remark = f"  (with {only.name}: {', '.join(map(str, only.values))})" if only else ""
        lines.append(f"  {name:{width}}{describe(parameter.domain)}{remark}")
    return "\n".join(lines)
