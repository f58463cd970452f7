"""All systems with their own commands: what `vtr evaluate`, `tables`, `analyze`, `explain` and `import` add for each.

A command's module is imported when it runs, so that help is instant.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from vtr_core.systems.all import SYSTEMS as WITHOUT_COMMANDS
from vtr_core.systems.system import Evaluation, Subcommand, Systems, called


def _main(module: str) -> Callable[[Sequence[str]], None]:
    return called(f"pipelines.systems.{module}", "main")


def _caption_figures(checkpoint: str, data: str, prefix: str, experiment: str) -> Mapping[str, float]:
    from pipelines.systems.captioning.caption_metrics import evaluate
    from pipelines.systems.captioning.evaluate_captions import CaptioningFlags

    (result,) = evaluate(CaptioningFlags(checkpoint, (data,), experiment=experiment))
    return result.metrics(prefix)


def _verification_figures(checkpoint: str, data: str, prefix: str, experiment: str) -> Mapping[str, float]:
    from pipelines.systems.siamese.face_verification import VerificationFlags, evaluate

    (result,) = evaluate(VerificationFlags(checkpoint, (data,), experiment=experiment))
    return result.metric_values(prefix)


_COMMANDS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "capsules": {
            "tables": (
                Subcommand(
                    "capsules", "the multimodal capsule network, Tables 1 to 6", _main("capsules.capsule_tables")
                ),
            ),
            "explanations": (
                Subcommand("capsules", "what each capsule responds to", _main("capsules.explain_capsules")),
            ),
        },
        "captioning": {
            "tables": (
                Subcommand(
                    "gmc",
                    "video captioning with granularity bias as the margin, Tables 1 and 2",
                    _main("captioning.gmc_tables"),
                ),
            ),
            "evaluations": (
                Evaluation(
                    "captioning",
                    "BLEU, METEOR, ROUGE-L and CIDEr of generated captions; vtr evaluate --task captioning --help",
                    _main("captioning.evaluate_captions"),
                    _caption_figures,
                ),
            ),
            "imports": (
                Subcommand(
                    "lavender",
                    "LAVENDER's weights as a captioner for a data set's words",
                    _main("captioning.import_lavender"),
                ),
            ),
        },
        "clip4clip": {
            "imports": (
                Subcommand(
                    "clip4clip",
                    "CLIP4Clip, meanP or seqTransf (github.com/ArrowLuo/CLIP4Clip)",
                    _main("clip4clip.import_clip4clip"),
                ),
            ),
        },
        "dual": {
            "tables": (
                Subcommand("thesis", "the thesis on dual encoders, Tables 3.1 to 5.4", _main("dual.thesis_tables")),
            ),
            "analyses": (
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
            "imports": (
                Subcommand(
                    "hybrid_space",
                    "dual encoding, latent or hybrid (github.com/danieljf24/hybrid_space)",
                    _main("dual.import_hybrid_space"),
                ),
            ),
        },
        "muse": {
            "tables": (
                Subcommand("muse", "MUSE's comparisons and ablations, Tables 1 to 11", _main("muse.muse_tables")),
            ),
        },
        "siamese": {
            "tables": (
                Subcommand(
                    "siamese",
                    "face verification by Siamese capsule networks, Table 1 on AT&T and LFW",
                    _main("siamese.siamese_tables"),
                ),
            ),
            "evaluations": (
                Evaluation(
                    "verification",
                    "face verification on pairs of images; vtr evaluate --task verification --help",
                    _main("siamese.verify_faces"),
                    _verification_figures,
                ),
            ),
        },
    }
)


SYSTEMS = Systems(tuple(replace(system, **_COMMANDS.get(system.name, {})) for system in WITHOUT_COMMANDS))
"""As `vtr_core.systems.all.SYSTEMS`, with these commands; systems of other packages bring their own."""
