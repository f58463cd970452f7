"""`vtr explain CHECKPOINT --data URI --query TEXT|--queries FILE`: explained search results, as a page or served."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pipelines.arguments import parse
from pipelines.explain.flags import MOST_MODELS, PAGE, VALUES, ExplainQueriesFlags, Ready, given_queries
from pipelines.explain.video_files import video_files
from pipelines.report.json_result import written_as_json
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.retrieval.explain.values import ExplainOptions, ExplainReport
    from vtr_core.tracking.run import TrackedRun
    from vtr_core.train.checkpoint.load import LoadedModel


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    flags = parse(ExplainQueriesFlags, argv, "vtr explain")
    _check(flags)
    if flags.serve:
        from pipelines.explain.server import serve

        serve(ready(flags), flags)
        return
    with written_as_json(flags.json, flags.out, PAGE, VALUES):
        _explain(flags)


def _explain(flags: ExplainQueriesFlags) -> None:
    """The page that the kind of the first model has: explanations by concepts, or retrieved examples."""
    from pipelines.evaluation_inputs import device
    from pipelines.explain.examples import explain_examples
    from vtr_core.retrieval.embed.joint_space import JointSpace
    from vtr_core.retrieval.spaces import spaces_of
    from vtr_core.train.checkpoint.load import load_model

    given_queries(flags)  # faults of queries are named before a model is loaded
    loaded = load_model(flags.checkpoint, device())
    if isinstance(spaces_of(loaded, "vtr explain"), JointSpace):
        explain_examples(flags, loaded)
    else:
        explain_queries(flags, loaded)


def _check(flags: ExplainQueriesFlags) -> None:
    if flags.against and (flags.serve or flags.transform is not None):
        raise ConfigError(
            "vtr explain: models are compared as they were trained, on a page; leave out --serve and --transform, "
            "or all checkpoints but one"
        )
    if len(flags.against) >= MOST_MODELS:
        raise ConfigError(f"vtr explain: {1 + len(flags.against)} checkpoints; a page has room for {MOST_MODELS}")
    if flags.serve:
        if flags.out is not None or flags.queries is not None or flags.json:
            raise ConfigError(
                "vtr explain --serve writes no page and takes its queries from the browser; "
                "leave out --out, --queries and --json"
            )
        return
    if flags.out is None:
        raise ConfigError("vtr explain: --out is needed, the folder for the page")
    if bool(flags.query) == (flags.queries is not None):
        raise ConfigError("vtr explain: give --query TEXT… or --queries FILE")


def explain_queries(flags: ExplainQueriesFlags, loaded: "LoadedModel | None" = None) -> "ExplainReport":
    """Answer the queries, write the page and its JSON, and log both as a run of the experiment.

    loaded: the model of the first checkpoint, where it is loaded already.
    """
    from pipelines.evaluation_inputs import short_names
    from pipelines.report.links import print_link
    from pipelines.report.logged_run import log_run
    from vtr_core import storage
    from vtr_core.data.shards.thumbnails import Thumbnails
    from vtr_core.retrieval.explain.frames import check_frames, read_pictures
    from vtr_core.retrieval.explain.page import render_explanations
    from vtr_core.retrieval.explain.report import side_by_side
    from vtr_core.retrieval.explain.values import ExplainOptions
    from vtr_core.storage import check_writable, locate

    assert flags.out is not None
    options = ExplainOptions(hits=flags.k, tags=flags.tags)
    given = given_queries(flags)
    out, frames = locate(flags.out), None if flags.keyframes is None else locate(flags.keyframes)
    check_writable(out)
    check_frames(frames)
    found = ready(flags, loaded)
    report = _report(found, given, options)
    if flags.against:
        others = (_report(ready(replace(flags, checkpoint=one)), given, options) for one in flags.against)
        report = side_by_side([report, *others])
    shown = [hit.video_id for query in report.queries for answer in query.answers for hit in answer.hits]
    page = render_explanations(report, read_pictures(frames, shown, Thumbnails(found.manifest)))
    storage.write_bytes(out / PAGE, page.encode())
    storage.write_json(out / VALUES, report.to_json())
    _print(report, (out / PAGE).uri)
    print_link(out / PAGE)
    names = short_names([found.manifest])
    log_run(flags.experiment, "explain", found.loaded, names, lambda run: _log(run, found.manifest, report, page))
    return report


def _report(found: Ready, given: "Sequence[tuple[str, str | None]]", options: "ExplainOptions") -> "ExplainReport":
    from vtr_core.retrieval.explain.queries import asked_queries
    from vtr_core.retrieval.explain.report import explain_report
    from vtr_core.retrieval.search.dual_spaces import known_queries

    asked = asked_queries(given, found.videos.video_id, *found.captions)
    queries = known_queries(found.spaces, found.loaded, [one.text for one in asked])
    return explain_report(found.described, found.videos, asked, queries, found.scoring, found.improved, options)


def ready(flags: ExplainQueriesFlags, loaded: "LoadedModel | None" = None) -> Ready:
    """Load the checkpoint, unless it is given, and embed the data set."""
    from pipelines.evaluation_inputs import device
    from vtr_core.analysis.transforms import Transform, read_transform
    from vtr_core.data.records.required_kind import require_videos
    from vtr_core.data.shards.checks import usable
    from vtr_core.retrieval.explain.report import Described, explainable
    from vtr_core.retrieval.search.search import Scoring
    from vtr_core.retrieval.spaces import dual_spaces_of
    from vtr_core.train.checkpoint.load import load_model

    manifest = usable(flags.data, require_videos)
    video_files(flags.videos, manifest)
    loaded = loaded or load_model(flags.checkpoint, device())
    spaces = dual_spaces_of(loaded, "an explanation by concepts")
    spaces.check(loaded.config, manifest)
    kind = spaces.concept_similarity(loaded.config)
    improved = None if flags.transform is None else read_transform(flags.transform, kind)
    embedded = spaces.videos(loaded, manifest, None)
    videos = embedded.videos
    weight = loaded.config.evaluation.latent_weight if flags.latent_weight is None else flags.latent_weight
    scoring = Scoring(flags.space or videos.default_space, Transform(kind), weight)
    explainable(videos, scoring)
    described = Described(loaded.uri, loaded.config.preset, loaded.progress.step, manifest.uri)
    return Ready(
        loaded, spaces, manifest, videos, (embedded.captions, embedded.caption_video), scoring, improved, described
    )


def _print(report: "ExplainReport", page: str) -> None:
    from vtr_core.retrieval.explain.values import described

    for place, system in enumerate(report.systems):
        ranks = [query.answers[place].right_rank for query in report.queries]
        known = [rank for rank in ranks if rank is not None]
        right = f", right video first for {known.count(1)} of {len(known)}" if known else ""
        print(
            f"{system.title:<11} {described(system.transform)}: C@10 {100 * system.causality_few[0]:.1f} %, "
            f"C@30 {100 * system.causality_many[0]:.1f} % over {system.num_hits} hits{right}"
        )
    print(f"page        {page}")


def _log(tracked: "TrackedRun", manifest: "Manifest", report: "ExplainReport", page: str) -> None:
    tracked.log_params(
        {
            "checkpoint": report.checkpoint,
            "data": [manifest.uri],
            "space": report.space,
            "latent_weight": report.latent_weight,
            "hits": report.options.hits,
            "tags": report.options.tags,
            "queries": len(report.queries),
        }
    )
    tracked.log_input(manifest, "explaining")
    tracked.log_json(VALUES, report.to_json())
    tracked.log_text(PAGE, page)
