"""`vtr evaluate` of a dual encoder: figures by the hybrid score and in each of its spaces, on data sets of videos."""

from pipelines.evaluate.flags import EvaluateFlags
from pipelines.evaluate.retrieval_figures import PLAIN, Result, Variant, log, printed, write_json
from pipelines.evaluation_inputs import short_names
from pipelines.report.printed_page import show
from vtr_core.config.evaluation import EvaluationConfig
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.errors import ConfigError
from vtr_core.retrieval.search.dual_spaces import DualSpaces, SpaceFigures
from vtr_core.run.inputs import usable_data
from vtr_core.train.checkpoint.load import LoadedModel

_REMARKS = {
    "matrix": "each space rescaled by the lowest and highest of all scores: every figure depends on the whole test set",
    "query": "each space rescaled by the lowest and highest score of the query",
    "train": "each space rescaled by the lowest and highest scores of training batches",
}


def evaluate_dual_spaces(loaded: LoadedModel, spaces: DualSpaces, flags: EvaluateFlags) -> list[Result]:
    """Evaluate, print tables for each data set, and log all figures as one run of the experiment."""
    evaluation = _evaluation(loaded, flags)
    manifests = [usable_data(loaded.config.model, uri) for uri in flags.data]
    for manifest in manifests:
        spaces.check(loaded.config, manifest)
    results = []
    for name, manifest in zip(short_names(manifests), manifests, strict=True):
        results.append(_result(loaded, spaces, name, manifest, evaluation))
        show(printed(results[-1], loaded.uri))
    settings = {
        "latent_weight": evaluation.latent_weight,
        "normalise": evaluation.normalise,
        "concept_similarity": spaces.concept_similarity(loaded.config),
        "average_checkpoints": flags.average_checkpoints,
    }
    log(flags.experiment, loaded, results, settings)
    if flags.json is not None:
        write_json(flags.json, results)
    return results


def _evaluation(loaded: LoadedModel, flags: EvaluateFlags) -> EvaluationConfig:
    """The run's settings with those of the command; ConfigError for flags that are about other models."""
    unused = {
        "--similarity": flags.similarity,
        "--normalize": flags.normalize,
        "--query-bank": flags.query_bank,
        "--aggregate": flags.aggregate != "none",
        "--knock-out": flags.knock_out,
    }
    for flag, given in unused.items():
        if given:
            raise ConfigError(
                f"vtr evaluate: {flag} is not for a dual encoder, whose spaces have similarities of their own, "
                "and figures of each alone anyway; it has --latent-weight and --rescale"
            )
    given_values = {"latent_weight": flags.latent_weight, "normalise": flags.rescale}
    return override(loaded.config.evaluation, {name: v for name, v in given_values.items() if v is not None})


def _result(
    loaded: LoadedModel, spaces: DualSpaces, name: str, manifest: Manifest, evaluation: EvaluationConfig
) -> Result:
    """All figures of one data set, from one embedding of it."""
    variants = [_variant(one, evaluation) for one in spaces.figures(loaded, manifest, evaluation)]
    return Result(name, manifest, variants[0].similarity, variants, {})


def _variant(figures: SpaceFigures, evaluation: EvaluationConfig) -> Variant:
    """A space's figures; of the hybrid score with what it depends on."""
    if figures.space != "hybrid":
        return Variant(figures.space, PLAIN, "", "", figures.directions)
    title = f"α = {evaluation.latent_weight:g}, rescaled by {evaluation.normalise}"
    return Variant("hybrid", PLAIN, title, _REMARKS[evaluation.normalise], figures.directions)
