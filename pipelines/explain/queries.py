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
    from vtr_core.retrieval.explain.frames import KeyFrames
    from vtr_core.retrieval.explain.values import AskedQuery, ExplainOptions, ExplainReport
    from vtr_core.retrieval.index.index import VideoIndex
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
    if flags.index is not None:
        explain_index(flags)
        return
    assert flags.checkpoint is not None, "checked"
    loaded = load_model(flags.checkpoint, device())
    space = spaces_of(loaded, "vtr explain")
    if not isinstance(space, JointSpace):
        explain_queries(flags, loaded)
    elif space.concept_terms(loaded) is not None and not flags.against:
        explain_zero_shot(flags, loaded)
    else:
        explain_examples(flags, loaded)


def _check(flags: ExplainQueriesFlags) -> None:
    if (flags.index is None) == (flags.data is None):
        raise ConfigError("vtr explain: give --data URI, with a checkpoint, or --index URI")
    if flags.index is None and flags.checkpoint is None:
        raise ConfigError("vtr explain: give a checkpoint, or encoder:NAME, for --data")
    if flags.index is not None and (flags.against or flags.serve):
        raise ConfigError(
            "vtr explain --index is a page of one model; leave out further checkpoints, and serve it by vtr serve"
        )
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
    from vtr_core.data.shards.thumbnails import Thumbnails
    from vtr_core.retrieval.explain.report import side_by_side
    from vtr_core.retrieval.explain.values import ExplainOptions

    options = ExplainOptions(hits=flags.k, tags=flags.tags)
    given = given_queries(flags)
    _check_places(flags)
    found = ready(flags, loaded)
    report = _report(found, given, options)
    if flags.against:
        others = (_report(ready(replace(flags, checkpoint=one)), given, options) for one in flags.against)
        report = side_by_side([report, *others])
    _publish(flags, report, Thumbnails(found.manifest), found.loaded, found.manifest)
    return report


def explain_zero_shot(flags: ExplainQueriesFlags, loaded: "LoadedModel") -> "ExplainReport":
    """As `explain_queries`, for a pretrained encoder that names concepts, on a data set."""
    from vtr_core.data.shards.thumbnails import Thumbnails
    from vtr_core.retrieval.explain.examples import asked_of_items
    from vtr_core.retrieval.index.build import build_index
    from vtr_core.run.inputs import usable_data

    _check_places(flags)
    assert flags.data is not None, "checked"
    manifest = usable_data(loaded.config.model, flags.data)
    video_files(flags.videos, manifest)
    index = build_index(loaded, manifest, "exact")
    asked = asked_of_items(manifest, given_queries(flags), [item.item_id for item in index.items])
    report = _zero_shot_report(flags, index, loaded, asked)
    _publish(flags, report, Thumbnails(manifest), loaded, manifest)
    return report


def explain_index(flags: ExplainQueriesFlags) -> "ExplainReport":
    """As `explain_zero_shot`, on an index that `vtr index` wrote."""
    from pipelines.evaluation_inputs import device
    from vtr_core.retrieval.explain.queries import asked_queries
    from vtr_core.retrieval.index.index import load_index
    from vtr_core.retrieval.search.index import key_frames
    from vtr_core.storage import locate
    from vtr_core.train.checkpoint.load import load_model

    _check_places(flags)
    assert flags.index is not None, "checked"
    index = load_index(locate(flags.index))
    loaded = load_model(flags.checkpoint or index.record.checkpoint, device())
    items = list(index.items)
    told = [(item.caption, place) for place, item in enumerate(items) if item.caption]
    asked = asked_queries(
        given_queries(flags), [item.item_id for item in items], [text for text, _ in told], [place for _, place in told]
    )
    report = _zero_shot_report(flags, index, loaded, asked)
    _publish(flags, report, key_frames(flags.index, index.record), loaded, None)
    return report


def _zero_shot_report(
    flags: ExplainQueriesFlags, index: "VideoIndex", loaded: "LoadedModel", asked: "Sequence[AskedQuery]"
) -> "ExplainReport":
    """The explained answers; ConfigError for an index without concepts, and for flags of models with two spaces."""
    from vtr_core.retrieval.explain.report import Described, zero_shot_report
    from vtr_core.retrieval.explain.values import ExplainOptions
    from vtr_core.retrieval.search.index import searcher
    from vtr_core.retrieval.search.joint_searcher import JointSearcher
    from vtr_core.retrieval.search.searcher import SearchOptions

    changed = {
        "--serve": flags.serve,
        "--transform": flags.transform,
        "--space": flags.space,
        "--latent-weight": flags.latent_weight,
    }
    given = [name for name, value in changed.items() if value not in (None, False)]
    if given:
        raise ConfigError(f"vtr explain: a zero-shot encoder has one space; leave out {' and '.join(given)}")
    ready = searcher(index, loaded, SearchOptions())
    if not isinstance(ready, JointSearcher) or not ready.concepts:
        raise ConfigError(
            f"vtr explain: {index.record.checkpoint} names no concepts in this index; encoders that do are listed by "
            "vtr encoders, and trained models are explained by vtr explain CHECKPOINT --data URI"
        )
    described = Described(loaded.uri, loaded.config.preset, loaded.progress.step, index.record.data)
    return zero_shot_report(described, ready, index.items, asked, ExplainOptions(hits=flags.k, tags=flags.tags))


def _check_places(flags: ExplainQueriesFlags) -> None:
    """The folder of the page is writable, and that of the pictures there."""
    from vtr_core.retrieval.explain.frames import check_frames
    from vtr_core.storage import check_writable, locate

    assert flags.out is not None, "checked"
    check_writable(locate(flags.out))
    check_frames(None if flags.keyframes is None else locate(flags.keyframes))


def _publish(
    flags: ExplainQueriesFlags,
    report: "ExplainReport",
    thumbnails: "KeyFrames | None",
    loaded: "LoadedModel",
    manifest: "Manifest | None",
) -> None:
    """Write the page and its JSON, print where they are, and log both; manifest: the data set, where it is one."""
    from pipelines.evaluation_inputs import short_names
    from pipelines.report.links import print_link
    from pipelines.report.logged_run import log_run
    from vtr_core import storage
    from vtr_core.retrieval.explain.frames import read_pictures
    from vtr_core.retrieval.explain.page import render_explanations
    from vtr_core.storage import locate

    assert flags.out is not None, "checked"
    out, frames = locate(flags.out), None if flags.keyframes is None else locate(flags.keyframes)
    shown = [hit.video_id for query in report.queries for answer in query.answers for hit in answer.hits]
    page = render_explanations(report, read_pictures(frames, shown, thumbnails))
    storage.write_bytes(out / PAGE, page.encode())
    storage.write_json(out / VALUES, report.to_json())
    _print(report, (out / PAGE).uri)
    print_link(out / PAGE)
    names = ["index"] if manifest is None else short_names([manifest])
    log_run(flags.experiment, "explain", loaded, names, lambda run: _log(run, manifest, report, page))


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

    assert flags.data is not None, "checked"
    manifest = usable(flags.data, require_videos)
    video_files(flags.videos, manifest)
    loaded = loaded or load_model(str(flags.checkpoint), device())
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


def _log(tracked: "TrackedRun", manifest: "Manifest | None", report: "ExplainReport", page: str) -> None:
    tracked.log_params(
        {
            "checkpoint": report.checkpoint,
            "data": [report.data],
            "space": report.space,
            "latent_weight": report.latent_weight,
            "hits": report.options.hits,
            "tags": report.options.tags,
            "queries": len(report.queries),
        }
    )
    if manifest is not None:
        tracked.log_input(manifest, "explaining")
    tracked.log_json(VALUES, report.to_json())
    tracked.log_text(PAGE, page)
