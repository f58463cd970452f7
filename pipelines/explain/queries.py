"""`vtr explain … --query TEXT|--queries FILE`: explained results or examples of models, as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pipelines.arguments import parse, written_as_json
from pipelines.explain.command import MOST_MODELS, PAGE, VALUES, ExplainQueriesFlags, Ready, given_queries, video_files
from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.retrieval.explain.examples import ExampleReport
    from vtr_core.retrieval.explain.explanation import AskedQuery, ExplainOptions, ExplainReport
    from vtr_core.retrieval.explain.key_frames import KeyFrames
    from vtr_core.retrieval.index.index import VideoIndex
    from vtr_core.tracking.run import TrackedRun
    from vtr_core.train.checkpoint.trained_model import LoadedModel


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    flags = parse(ExplainQueriesFlags, argv, "vtr explain")
    _check(flags)
    with written_as_json(flags.json, flags.out, PAGE, VALUES):
        _explain(flags)


def _explain(flags: ExplainQueriesFlags) -> None:
    """The page that the kind of the first model has: explanations by concepts, or retrieved examples."""
    from pipelines.evaluation_inputs import device
    from vtr_core.systems.spaces import JointSpace, spaces_of
    from vtr_core.train.checkpoint.trained_model import read_model

    given_queries(flags)  # faults of queries are named before a model is loaded
    if flags.index is not None:
        explain_index(flags)
        return
    assert flags.checkpoint is not None, "checked"
    loaded = read_model(flags.checkpoint, SYSTEMS, device())
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
    if flags.index is not None and flags.against:
        raise ConfigError("vtr explain --index is a page of one model; leave out further checkpoints")
    if flags.against and flags.transform is not None:
        raise ConfigError(
            "vtr explain: models are compared as they were trained; leave out --transform, or all checkpoints but one"
        )
    if len(flags.against) >= MOST_MODELS:
        raise ConfigError(f"vtr explain: {1 + len(flags.against)} checkpoints; a page has room for {MOST_MODELS}")
    if flags.out is None:
        raise ConfigError("vtr explain: --out is needed, the folder for the page")
    if bool(flags.query) == (flags.queries is not None):
        raise ConfigError("vtr explain: give --query TEXT… or --queries FILE")


def explain_queries(flags: ExplainQueriesFlags, loaded: "LoadedModel | None" = None) -> "ExplainReport":
    """Answer the queries, write the page and its JSON, and log both as a run of the experiment.

    loaded: the model of the first checkpoint, where it is loaded already.
    """
    from vtr_core.data.shards.thumbnails import Thumbnails
    from vtr_core.retrieval.explain.explained_queries import side_by_side
    from vtr_core.retrieval.explain.explanation import ExplainOptions

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
    from vtr_core.retrieval.explain.explanation import asked_queries
    from vtr_core.retrieval.index.index import load_index
    from vtr_core.retrieval.search.index_search import key_frames
    from vtr_core.storage import locate
    from vtr_core.train.checkpoint.trained_model import read_model

    _check_places(flags)
    assert flags.index is not None, "checked"
    index = load_index(locate(flags.index))
    loaded = read_model(flags.checkpoint or index.record.checkpoint, SYSTEMS, device())
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
    from vtr_core.retrieval.explain.explained_queries import Described, zero_shot_report
    from vtr_core.retrieval.explain.explanation import ExplainOptions
    from vtr_core.retrieval.search.index_search import JointSearcher, searcher
    from vtr_core.retrieval.search.searcher import SearchOptions

    changed = {
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
    from vtr_core.retrieval.explain.key_frames import check_frames
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
    from pipelines.report.logged_run import log_run
    from pipelines.report.printed_page import print_link
    from vtr_core import storage
    from vtr_core.retrieval.explain.html_pages import render_explanations
    from vtr_core.retrieval.explain.key_frames import read_pictures
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
    from vtr_core.retrieval.explain.explained_queries import explain_report
    from vtr_core.retrieval.explain.explanation import asked_queries
    from vtr_core.systems.spaces import known_queries

    asked = asked_queries(given, found.videos.video_id, *found.captions)
    queries = known_queries(found.spaces, found.loaded, [one.text for one in asked])
    return explain_report(found.described, found.videos, asked, queries, found.scoring, found.improved, options)


def ready(flags: ExplainQueriesFlags, loaded: "LoadedModel | None" = None) -> Ready:
    """Load the checkpoint, unless it is given, and embed the data set."""
    from pipelines.evaluation_inputs import device
    from vtr_core.analysis.transforms import Transform, read_transform
    from vtr_core.data.records.schema import require_videos
    from vtr_core.data.shards.shard_file import usable
    from vtr_core.embedding.video_ranking import Scoring
    from vtr_core.retrieval.explain.explained_queries import Described, explainable
    from vtr_core.systems.spaces import dual_spaces_of
    from vtr_core.train.checkpoint.trained_model import read_model

    assert flags.data is not None, "checked"
    manifest = usable(flags.data, require_videos)
    video_files(flags.videos, manifest)
    loaded = loaded or read_model(str(flags.checkpoint), SYSTEMS, device())
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
    from vtr_core.retrieval.explain.explanation import described

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


def explain_examples(flags: ExplainQueriesFlags, first: "LoadedModel") -> "ExampleReport":
    """Retrieve with every model, write the page and its JSON, and log both as a run of the experiment.

    first: the model of the first checkpoint; the others are loaded one at a time.
    """
    from pipelines.evaluation_inputs import short_names
    from pipelines.report.logged_run import log_run
    from pipelines.report.printed_page import print_link
    from vtr_core import storage
    from vtr_core.data.shards.thumbnails import Thumbnails
    from vtr_core.extraction.pictures import ClipFrames, ClipSpan
    from vtr_core.retrieval.explain.html_pages import render_examples
    from vtr_core.retrieval.explain.key_frames import check_frames, read_pictures
    from vtr_core.run.inputs import usable_data
    from vtr_core.storage import check_writable, locate

    _examples_check(flags, first.config.model.kind)
    assert flags.out is not None
    out, frames = locate(flags.out), None if flags.keyframes is None else locate(flags.keyframes)
    check_frames(frames)
    assert flags.data is not None, "checked"
    manifest = usable_data(first.config.model, flags.data)
    videos = video_files(flags.videos, manifest)
    check_writable(out)
    report = _examples_report(flags, first, manifest)
    hits = [hit for query in report.queries for answer in query.answers for hit in answer.hits]
    spans = [ClipSpan(hit.item_id, hit.video_id, hit.start or 0.0, hit.end or 0.0) for hit in hits]
    cut = ClipFrames(Thumbnails(manifest), videos, spans)
    page = render_examples(report, read_pictures(frames, [hit.item_id for hit in hits], cut))
    storage.write_bytes(out / PAGE, page.encode())
    storage.write_json(out / VALUES, report.to_json())
    _examples_print(report, (out / PAGE).uri)
    print_link(out / PAGE)
    names = short_names([manifest])
    log_run(flags.experiment, "explain", first, names, lambda run: _examples_log(run, flags, manifest, report, page))
    return report


def _examples_check(flags: ExplainQueriesFlags, kind: str) -> None:
    """ConfigError for flags that need a concept space."""
    concept_flags = {
        "--transform": flags.transform,
        "--space": flags.space,
        "--latent-weight": flags.latent_weight,
    }
    given = [name for name, value in concept_flags.items() if value not in (None, False)]
    if given:
        raise ConfigError(
            f"vtr explain: a {kind!r} model has one space and no concepts; leave out {' and '.join(given)}"
        )


def _examples_report(flags: ExplainQueriesFlags, first: "LoadedModel", manifest: "Manifest") -> "ExampleReport":
    from vtr_core.retrieval.explain.examples import ComparedModel, ExampleQuery, ExampleReport, examples
    from vtr_core.retrieval.explain.explained_queries import model_titles
    from vtr_core.retrieval.explain.explanation import ExplainOptions
    from vtr_core.systems.spaces import JointSpace, spaces_of

    options, given = ExplainOptions(hits=flags.k, tags=flags.tags), given_queries(flags)
    models, found = [], []
    for loaded in _models(flags, first):
        space = spaces_of(loaded, "retrieved examples")
        if not isinstance(space, JointSpace):
            raise ConfigError(
                f"vtr explain: {loaded.uri} has a concept space and {first.uri} has none; compare models of one kind"
            )
        found.append(examples(loaded, space, manifest, given, options))
        config = loaded.config
        models.append((config.preset, ComparedModel(loaded.uri, loaded.progress.step, config.evaluation.similarity)))
    titles = model_titles([preset for preset, _ in models])
    return ExampleReport(
        data=manifest.uri,
        num_items=max(one.num_items for one in found),
        models=tuple(model.titled(title) for title, (_, model) in zip(titles, models, strict=True)),
        queries=tuple(
            ExampleQuery(text, found[0].right[number], tuple(one.answers[number] for one in found))
            for number, (text, _) in enumerate(given)
        ),
    )


def _models(flags: ExplainQueriesFlags, first: "LoadedModel") -> "Iterator[LoadedModel]":
    from pipelines.evaluation_inputs import device
    from vtr_core.train.checkpoint.trained_model import read_model

    yield first
    for checkpoint in flags.against:
        yield read_model(checkpoint, SYSTEMS, device())


def _examples_print(report: "ExampleReport", page: str) -> None:
    for place, model in enumerate(report.models):
        ranks = [query.answers[place].right_rank for query in report.queries]
        known = [rank for rank in ranks if rank is not None]
        right = f", right item first for {known.count(1)} of {len(known)}" if known else ""
        print(f"{model.title}: {model.similarity}, {len(report.queries)} queries{right}")
    print(f"page        {page}")


def _examples_log(
    tracked: "TrackedRun", flags: ExplainQueriesFlags, manifest: "Manifest", report: "ExampleReport", page: str
) -> None:
    checkpoints = [model.checkpoint for model in report.models]
    counts = {"hits": flags.k, "tags": flags.tags, "queries": len(report.queries)}
    tracked.log_params({"checkpoint": checkpoints, "data": [manifest.uri], **counts})
    tracked.log_input(manifest, "explaining")
    tracked.log_json(VALUES, report.to_json())
    tracked.log_text(PAGE, page)
