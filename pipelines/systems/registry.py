"""All systems with their own commands: what `vtr evaluate`, `tables`, `analyze`, `explain` and `import` add for each.

A command's module is imported when it runs, so that help is instant.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from types import MappingProxyType

from vtr_core.systems.all import SYSTEMS as WITHOUT_COMMANDS
from vtr_core.systems.system import Evaluation, Subcommand, System, Systems


def _run(module: str, argv: Sequence[str]) -> None:
    import_module(f"pipelines.systems.{module}").main(argv)


def _main(module: str) -> Callable[[Sequence[str]], None]:
    """The function `main` of a module below pipelines/systems."""
    return partial(_run, module)


def _caption_figures(checkpoint: str, data: str, prefix: str, experiment: str) -> Mapping[str, float]:
    from pipelines.systems.captioning.caption_metrics import evaluate
    from pipelines.systems.captioning.evaluate_captions import CaptioningFlags

    (result,) = evaluate(CaptioningFlags(checkpoint, (data,), experiment=experiment))
    return result.metrics(prefix)


def _verification_figures(checkpoint: str, data: str, prefix: str, experiment: str) -> Mapping[str, float]:
    from pipelines.systems.siamese.face_verification import VerificationFlags, evaluate

    (result,) = evaluate(VerificationFlags(checkpoint, (data,), experiment=experiment))
    return result.metric_values(prefix)


@dataclass(frozen=True)
class _Commands:
    """The commands of a system, as fields of `System`."""

    tables: tuple[Subcommand, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()
    analyses: tuple[Subcommand, ...] = ()
    explanations: tuple[Subcommand, ...] = ()
    imports: tuple[Subcommand, ...] = ()


_COMMANDS: Mapping[str, _Commands] = MappingProxyType(
    {
        "capsules": _Commands(
            tables=(
                Subcommand(
                    "capsules", "the multimodal capsule network, Tables 1 to 6", _main("capsules.capsule_tables")
                ),
            ),
            explanations=(Subcommand("capsules", "what each capsule responds to", _main("capsules.explain_capsules")),),
        ),
        "captioning": _Commands(
            tables=(
                Subcommand(
                    "gmc",
                    "video captioning with granularity bias as the margin, Tables 1 and 2",
                    _main("captioning.gmc_tables"),
                ),
            ),
            evaluations=(
                Evaluation(
                    "captioning",
                    "BLEU, METEOR, ROUGE-L and CIDEr of generated captions; vtr evaluate --task captioning --help",
                    _main("captioning.evaluate_captions"),
                    _caption_figures,
                ),
            ),
            imports=(
                Subcommand(
                    "lavender",
                    "LAVENDER's weights as a captioner for a data set's words",
                    _main("captioning.import_lavender"),
                ),
                Subcommand(
                    "bert",
                    "BERT's weights as the language part of a captioner for a data set's words",
                    _main("captioning.import_bert"),
                ),
            ),
        ),
        "clip4clip": _Commands(
            imports=(
                Subcommand(
                    "clip4clip",
                    "CLIP4Clip, meanP or seqTransf (github.com/ArrowLuo/CLIP4Clip)",
                    _main("clip4clip.import_clip4clip"),
                ),
            ),
        ),
        "dual": _Commands(
            tables=(
                Subcommand("thesis", "the thesis on dual encoders, Tables 3.1 to 5.4", _main("dual.thesis_tables")),
            ),
            analyses=(
                Subcommand(
                    "causality",
                    "how much of each decision of a dual encoder its strongest concepts carry, and how much they can:\n"
                    "contributions, C@k, a search for the best transform, precision of the concept detectors",
                    _main("dual.causality"),
                ),
                Subcommand(
                    "complementarity",
                    "what the latent and the concept space add to each other: dimensions, principal components,\n"
                    "canonical correlations, ensembles of several trainings with their significance",
                    _main("dual.complementarity"),
                ),
            ),
            imports=(
                Subcommand(
                    "hybrid_space",
                    "dual encoding, latent or hybrid (github.com/danieljf24/hybrid_space)",
                    _main("dual.import_hybrid_space"),
                ),
            ),
        ),
        "muse": _Commands(
            tables=(Subcommand("muse", "MUSE's comparisons and ablations, Tables 1 to 11", _main("muse.muse_tables")),),
        ),
        "siamese": _Commands(
            tables=(
                Subcommand(
                    "siamese",
                    "face verification by Siamese capsule networks, Table 1 on AT&T and LFW",
                    _main("siamese.siamese_tables"),
                ),
            ),
            evaluations=(
                Evaluation(
                    "verification",
                    "face verification on pairs of images; vtr evaluate --task verification --help",
                    _main("siamese.verify_faces"),
                    _verification_figures,
                ),
            ),
        ),
    }
)


def _with_commands(system: System) -> System:
    own = _COMMANDS.get(system.name)
    return system if own is None else replace(system, **vars(own))


SYSTEMS = Systems(tuple(map(_with_commands, WITHOUT_COMMANDS)))
"""As `vtr_core.systems.all.SYSTEMS`, with these commands; systems of other packages bring their own."""
