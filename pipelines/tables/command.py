"""`vtr tables <paper>`: a paper's tables, its figures beside ours, which are measured where the data is there."""

from collections.abc import Sequence

from vtr_core.errors import ConfigError

PAPERS = ("capsules", "gmc", "muse", "siamese")
HELP = f"""\
usage: vtr tables <paper> [flags]      vtr tables <paper> --help

  capsules   the multimodal capsule network, Tables 1 to 6
  gmc        video captioning with granularity bias as the margin, Tables 1 and 2
  muse       MUSE's ablations, Tables 4 to 8
  siamese    face verification by Siamese capsule networks, Table 1 on AT&T

papers: {", ".join(PAPERS)}
"""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    match argv[0] if argv else "--help":
        case "-h" | "--help":
            print(HELP, end="")
        case "capsules":
            from vtr_core.systems.capsules.tables import command as tables_capsules

            tables_capsules.main(argv[1:])
        case "gmc":
            from vtr_core.systems.captioning.tables import command as tables_gmc

            tables_gmc.main(argv[1:])
        case "muse":
            from vtr_core.systems.muse.tables import command as tables_muse

            tables_muse.main(argv[1:])
        case "siamese":
            from vtr_core.systems.siamese.tables import command as tables_siamese

            tables_siamese.main(argv[1:])
        case other:
            raise ConfigError(f"there are no tables of {other!r}; papers: {', '.join(PAPERS)}")
