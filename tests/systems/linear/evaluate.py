"""`vtr evaluate CHECKPOINT --task choice --data URI…`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from pipelines.arguments import parse, print_help, wants_help

PROG = "vtr evaluate --task choice"


@dataclass(frozen=True)
class ChoiceFlags:
    """What to evaluate and on what."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """A checkpoint folder or a run folder."""
    data: tuple[str, ...]
    """One or more data sets of clips."""


def main(argv: Sequence[str]) -> None:
    """Print how often a caption is nearer to its own clip than to another one."""
    if not argv or wants_help(argv):
        print_help(PROG, ChoiceFlags)
        return
    from pipelines.evaluate.evaluation_flags import device
    from pipelines.report.figures import show
    from tests.systems.linear.choice import choice_accuracy
    from vtr_core.data.plan import row_groups
    from vtr_core.run.inputs import usable_data
    from vtr_core.systems.spaces import clip_space_of, embed_rows
    from vtr_core.train.checkpoint import load_model

    flags = parse(ChoiceFlags, argv, PROG)
    loaded = load_model(flags.checkpoint, device())
    space = clip_space_of(loaded, PROG)
    for uri in flags.data:
        manifest = usable_data(loaded.config.model, uri)
        space.check(loaded.config, manifest)
        rows = embed_rows(loaded.model, loaded.config, manifest, loaded.vocabulary, row_groups(manifest))
        show([f"{uri}: {choice_accuracy(rows):.1f} % of choices, by chance 50"])
