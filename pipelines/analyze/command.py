"""`vtr analyze`: the first word says what is analysed; each analysis has a module and flags of its own."""

from collections.abc import Sequence

from vtr_core.errors import ConfigError

ANALYSES = ("causality", "complementarity", "information")
HELP = """\
usage: vtr analyze <analysis> CHECKPOINT… [flags]      vtr analyze <analysis> --help

  causality         how much of each decision of a dual encoder its strongest concepts carry, and how much they can:
                    contributions, C@k, a search for the best transform, calibration of the concept detectors
  complementarity   what the latent and the concept space add to each other: dimensions, principal components,
                    canonical correlations, ensembles of several trainings with their significance
  information       how much the captions of a corpus tell, as three readings of CIDEr's statistics: their distribution,
                    head and tail captions; takes a data set or annotations in place of checkpoints
"""


def main(argv: Sequence[str]) -> None:
    """Run the analysis that the first word names."""
    match list(argv):
        case [] | ["-h" | "--help"]:
            print(HELP, end="")
        case ["causality", *rest]:
            from vtr_core.systems.dual.analyze.causality import command as analyze_causality

            analyze_causality.main(rest)
        case ["complementarity", *rest]:
            from vtr_core.systems.dual.analyze.complementarity import command as analyze_complementarity

            analyze_complementarity.main(rest)
        case ["information", *rest]:
            from pipelines.analyze import information as analyze_information

            analyze_information.main(rest)
        case [word, *_]:
            raise ConfigError(f"vtr analyze {word}: there is no such analysis; analyses: {', '.join(ANALYSES)}")
