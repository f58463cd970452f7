"""`vtr encoders`: the pretrained encoders there are, what each needs, and whether it is here."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pipelines.arguments import parse, print_help, wants_help

HELP = """\
usage: vtr encoders [--json]

Lists the sources of pretrained encoders, the recipes of features, and the models in the Hugging Face cache: dimension,
what each encodes, what it needs, and whether that is on this machine. Any of these names goes with vtr extract --recipe
and vtr_core.encoder. Nothing is loaded or fetched.

"""


@dataclass(frozen=True)
class EncodersFlags:
    """Flags of `vtr encoders`."""

    json: bool = False
    """Print JSON: [{"name", "kind", "what", "dim", "encodes", "needs", "here"}, …]."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print(HELP, end="")
        print_help("vtr encoders", EncodersFlags)
        return
    flags = parse(EncodersFlags, argv, "vtr encoders")
    from pipelines.arguments import print_json
    from vtr_core.encoders.catalogue import as_text, catalogue

    listed = catalogue()
    if flags.json:
        print_json([asdict(encoder) for encoder in listed])
    else:
        print(as_text(listed))


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("encoders")
