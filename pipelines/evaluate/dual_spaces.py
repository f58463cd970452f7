"""`vtr evaluate` of a dual encoder: metrics under the hybrid score and in each space, on data sets of videos."""

from collections.abc import Sequence

from pipelines.evaluate.flags import EvaluateFlags
from pipelines.evaluate.retrieval_figures import PLAIN, Result, Variant, intervals, log, printed, write_json
from pipelines.evaluate.stored import check_stored, embedded_rows
from pipelines.evaluation_inputs import short_names
from pipelines.report.printed_page import show
from vtr_core import storage
from vtr_core.config.evaluation import EvaluationConfig
from vtr_core.config.override import override
from vtr_core.data.concepts.table import FILE, ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.errors import ConfigError
from vtr_core.retrieval.search.dual_spaces import DualSpaces, QuerySubset, SpaceFigures
from vtr_core.run.inputs import usable_data
from vtr_core.storage import locate
from vtr_core.train.checkpoint.load import LoadedModel

_REMARKS = {
    "matrix": "each space rescaled by the lowest and highest of all scores: every figure depends on the whole test set",
    "query": "each space rescaled by the lowest and highest score of the query",
    "train": "each space rescaled by the lowest and highest scores of training batches",
}


def evaluate_dual_spaces(loaded: LoadedModel, spaces: DualSpaces, flags: EvaluateFlags) -> list[Result]:
    """Evaluate, print tables for each data set, and log all metrics as one run of the experiment."""
    evaluation = _evaluation(loaded, flags)
    manifests = [usable_data(loaded.config.model, uri) for uri in flags.data]
    for manifest in manifests:
        spaces.check(loaded.config, manifest)
    check_stored(flags.embeddings, manifests)
    subset = None if flags.queries == "all" else _ambiguous(flags, manifests)
    results = []
    for name, manifest in zip(short_names(manifests), manifests, strict=True):
        rows = embedded_rows(loaded, manifest, flags.embeddings)
        figures = spaces.figures(loaded, manifest, evaluation, subset, rows, flags.query_sample)
        variants = [_variant(one, evaluation, flags.query_sample is not None) for one in figures]
        results.append(Result(name, manifest, variants[0].similarity, variants, {}))
        show(printed(results[-1], loaded.uri))
    settings = {
        "latent_weight": evaluation.latent_weight,
        "normalise": evaluation.normalise,
        "concept_similarity": spaces.concept_similarity(loaded.config),
        "average_checkpoints": flags.average_checkpoints,
        "queries": flags.queries,
        **flags.sampled,
    }
    log(flags.experiment, loaded, results, settings)
    if flags.out is not None:
        write_json(flags.out, results)
    return results


def _evaluation(loaded: LoadedModel, flags: EvaluateFlags) -> EvaluationConfig:
    """The run's settings, changed by the command's; ConfigError for flags of other models."""
    unused = {
        "--similarity": flags.similarity,
        "--normalize": flags.normalize,
        "--query-bank": flags.query_bank,
        "--aggregate": flags.aggregate != "none",
        "--knock-out": flags.knock_out,
        "--relevant same-caption": flags.relevant != "own",
    }
    for flag, given in unused.items():
        if given:
            raise ConfigError(
                f"vtr evaluate: {flag} is not for a dual encoder, whose spaces have similarities of their own, "
                "and figures of each alone anyway; it has --latent-weight and --rescale"
            )
    given_values = {"latent_weight": flags.latent_weight, "normalise": flags.rescale}
    return override(loaded.config.evaluation, {name: v for name, v in given_values.items() if v is not None})


def _ambiguous(flags: EvaluateFlags, manifests: Sequence[Manifest]) -> QuerySubset:
    """The ambiguous captions according to the concept table; DatasetError where the table lacks a data set."""
    folder = manifests[0].uri.rstrip("/")
    beside = [locate(folder) / "concepts", locate(folder.rpartition("/")[0] or "/") / "concepts"]
    found = next((place.uri for place in beside if storage.exists(place / FILE)), beside[-1].uri)
    table = ConceptTable.load(flags.concepts or found)
    for manifest in manifests:
        table.require_dataset(manifest.uri, manifest.fingerprint)
    return QuerySubset("ambiguous", table.ambiguous_captions)


def _variant(figures: SpaceFigures, evaluation: EvaluationConfig, sampled: bool) -> Variant:
    """The metrics in a space; for the hybrid score with its settings, for sampled queries with intervals."""
    name, title, remark = PLAIN, "", ""
    if figures.space == "hybrid":
        title = f"α = {evaluation.latent_weight:g}, rescaled by {evaluation.normalise}"
        remark = _REMARKS[evaluation.normalise]
    if figures.queries != "all":
        name, title, remark = figures.queries, f"{figures.queries} queries and their videos alone", ""
    if sampled:
        title = "; ".join(filter(None, [title, "sampled queries"]))
        remark = "; ".join(filter(None, [remark, intervals(figures.directions)]))
    return Variant(figures.space, name, title, remark, figures.directions)
