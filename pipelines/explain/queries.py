"""`vtr explain … --query TEXT|--queries FILE`: explained results or retrieved examples of models, as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipelines.evaluate.evaluation_flags import device, short_names
from pipelines.explain.command import PAGE, VALUES, ExplainQueriesFlags, video_files
from pipelines.report.figures import print_link
from pipelines.report.logged_run import log_run
from pipelines.systems.registry import SYSTEMS
from vtr_core import storage
from vtr_core.analysis.transforms import read_transform
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.errors import ConfigError, InputError
from vtr_core.extraction.pictures import ClipFrames, ClipSpan
from vtr_core.retrieval.explain.explained_queries import (
    Described,
    explain_report,
    explainable,
    model_titles,
    side_by_side,
    zero_shot_report,
)
from vtr_core.retrieval.explain.explanation import (
    AskedQuery,
    ExplainOptions,
    ExplainReport,
    asked_queries,
    described,
    parse_queries,
)
from vtr_core.retrieval.explain.pages import (
    ComparedModel,
    ExampleQuery,
    ExampleReport,
    KeyFrames,
    asked_of_items,
    check_frames,
    examples,
    read_pictures,
    render_examples,
    render_explanations,
)
from vtr_core.retrieval.index.build import build_index
from vtr_core.retrieval.index.index import VideoIndex, load_index
from vtr_core.retrieval.search.index_search import JointSearcher, SearchOptions, key_frames, searcher
from vtr_core.run.inputs import usable_data
from vtr_core.storage import locate
from vtr_core.systems.spaces import DualSpaces, JointSpace, dual_spaces_of, known_queries, spaces_of
from vtr_core.tracking.run import TrackedRun
from vtr_core.train.checkpoint.trained_model import LoadedModel, read_model, read_stated_model

Queries = Sequence[tuple[str, str | None]]
"""Texts, each with the id of its relevant item where one is given."""
Report = ExplainReport | ExampleReport


def given_queries(flags: ExplainQueriesFlags) -> list[tuple[str, str | None]]:
    """The queries of the flags; ConfigError for an empty one, InputError for a file that cannot be read."""
    if flags.queries is None:
        if not all(text.strip() for text in flags.query):
            raise ConfigError("vtr explain: a query is empty; say what the video shows")
        return [(text.strip(), None) for text in flags.query]
    try:
        content = storage.read_bytes(locate(flags.queries))
    except FileNotFoundError as error:
        raise InputError(f"--queries {flags.queries} does not exist") from error
    except OSError as error:
        raise InputError(f"--queries {flags.queries} cannot be read ({error})") from error
    return parse_queries(content, flags.queries)


def explain(flags: ExplainQueriesFlags) -> Report:
    """Answer the queries, write the page and its JSON, and log both as a run of the experiment.

    The kind of the first model decides: hits explained by concepts, or retrieved examples.
    """
    queries = given_queries(flags)  # their faults are named before a model is loaded
    check_frames(None if flags.keyframes is None else locate(flags.keyframes))
    if flags.index is not None:
        index = load_index(locate(flags.index))
        loaded = read_stated_model(flags.checkpoint, index.record.checkpoint, flags.index, SYSTEMS, device())
        captions = [(item.caption, place) for place, item in enumerate(index.items) if item.caption]
        ids = [item.item_id for item in index.items]
        right = asked_queries(queries, ids, [text for text, _ in captions], [place for _, place in captions])
        report: Report = _zero_shot(flags, index, loaded, right)
        _publish(flags, report, loaded, None, key_frames(flags.index, index.record))
        return report
    assert flags.data is not None, "checked"
    loaded = read_model(str(flags.checkpoint), SYSTEMS, device())
    space = spaces_of(loaded, "vtr explain")
    manifest = usable_data(loaded.config.model, flags.data)
    videos = video_files(flags.videos, manifest)
    spans: list[ClipSpan] = []
    if isinstance(space, DualSpaces):
        own = flags.transforms or (None,) * (1 + len(flags.against))
        reports = [
            _by_concepts(flags, model, manifest, queries, transform)
            for model, transform in zip(_models(flags, loaded), own, strict=True)
        ]
        report = side_by_side(reports) if flags.against else reports[0]
    elif space.concept_terms(loaded) is not None and not flags.against:
        index = build_index(loaded, manifest, "exact")
        right = asked_of_items(manifest, queries, [item.item_id for item in index.items])
        report = _zero_shot(flags, index, loaded, right)
        spans = [ClipSpan(i.item_id, i.video_id, i.start or 0.0, i.end or 0.0) for i in index.items]
    else:
        report = _examples(flags, loaded, manifest, queries)
        hits = [hit for query in report.queries for answer in query.answers for hit in answer.hits]
        spans = [ClipSpan(hit.item_id, hit.video_id, hit.start or 0.0, hit.end or 0.0) for hit in hits]
    _publish(flags, report, loaded, manifest, ClipFrames(Thumbnails(manifest), videos, spans))
    return report


def _models(flags: ExplainQueriesFlags, first: LoadedModel) -> Iterator[LoadedModel]:
    """The models of the page, the later ones loaded one at a time."""
    yield first
    for checkpoint in flags.against:
        yield read_model(checkpoint, SYSTEMS, device())


def _by_concepts(
    flags: ExplainQueriesFlags, loaded: LoadedModel, manifest: Manifest, queries: Queries, own: str | None = None
) -> ExplainReport:
    """The explained answers of a dual encoder; own: the file of a transform under which it answers, or "none"."""
    spaces = dual_spaces_of(loaded, "an explanation by concepts")
    spaces.check(loaded.config, manifest)
    kind = spaces.concept_similarity(loaded.config)
    improved = None if flags.transform is None else read_transform(flags.transform, kind)
    embedded = spaces.videos(loaded, manifest, None)
    scoring = spaces.scoring(loaded)
    weight = scoring.latent_weight if flags.latent_weight is None else flags.latent_weight
    scoring = replace(scoring, space=flags.space or scoring.space, latent_weight=weight)
    if own is not None and own != "none":
        scoring = scoring.transformed(read_transform(own, kind))
    explainable(embedded.videos, scoring)
    right = asked_queries(queries, embedded.videos.video_id, embedded.captions, embedded.caption_video)
    vectors = known_queries(spaces, loaded, [query.text for query in right])
    model = Described(loaded.uri, loaded.config.preset, loaded.progress.step, manifest.uri)
    options = ExplainOptions(hits=flags.k, tags=flags.tags)
    return explain_report(model, embedded.videos, right, vectors, scoring, improved, options)


def _zero_shot(
    flags: ExplainQueriesFlags, index: VideoIndex, loaded: LoadedModel, queries: Sequence[AskedQuery]
) -> ExplainReport:
    """The explained answers of an index; ConfigError for an index without concepts."""
    _check_one_space(flags, loaded)
    ready = searcher(index, loaded, SearchOptions())
    if not isinstance(ready, JointSearcher) or not ready.concepts:
        raise ConfigError(
            f"vtr explain: {index.record.checkpoint} names no concepts in this index; encoders that do are listed by "
            "vtr encoders, and trained models are explained by vtr explain CHECKPOINT --data URI"
        )
    model = Described(loaded.uri, loaded.config.preset, loaded.progress.step, index.record.data)
    return zero_shot_report(model, ready, index.items, queries, ExplainOptions(hits=flags.k, tags=flags.tags))


def _examples(flags: ExplainQueriesFlags, first: LoadedModel, manifest: Manifest, queries: Queries) -> ExampleReport:
    """The best items of every model."""
    _check_one_space(flags, first)
    options, models, results = ExplainOptions(hits=flags.k, tags=flags.tags), [], []
    for loaded in _models(flags, first):
        space = spaces_of(loaded, "retrieved examples")
        if not isinstance(space, JointSpace):
            raise ConfigError(
                f"vtr explain: {loaded.uri} has a concept space and {first.uri} has none; compare models of one kind"
            )
        results.append(examples(loaded, space, manifest, queries, options))
        similarity = loaded.config.evaluation.similarity
        models.append(ComparedModel(loaded.uri, loaded.progress.step, similarity, loaded.config.preset))
    titles = model_titles([model.title for model in models])
    return ExampleReport(
        data=manifest.uri,
        num_items=max(result.num_items for result in results),
        models=tuple(replace(model, title=title) for model, title in zip(models, titles, strict=True)),
        queries=tuple(
            ExampleQuery(text, results[0].right[number], tuple(result.answers[number] for result in results))
            for number, (text, _) in enumerate(queries)
        ),
    )


def _check_one_space(flags: ExplainQueriesFlags, loaded: LoadedModel) -> None:
    """ConfigError for flags of models with a concept space of their own."""
    settings = {
        "--transform": flags.transform,
        "--transforms": flags.transforms or None,
        "--space": flags.space,
        "--latent-weight": flags.latent_weight,
    }
    changed = [name for name, value in settings.items() if value is not None]
    if changed:
        kind = loaded.config.model.kind
        raise ConfigError(f"vtr explain: a {kind!r} model has one space; leave out {' and '.join(changed)}")


def _publish(
    flags: ExplainQueriesFlags,
    report: Report,
    loaded: LoadedModel,
    manifest: Manifest | None,
    thumbnails: KeyFrames | None,
) -> None:
    """Write the page and its JSON, print where they are, and log both; manifest: the data set, where it is one."""
    assert flags.out is not None, "checked"
    out, frames = locate(flags.out), None if flags.keyframes is None else locate(flags.keyframes)
    if isinstance(report, ExampleReport):
        ids = [hit.item_id for query in report.queries for answer in query.answers for hit in answer.hits]
        page = render_examples(report, read_pictures(frames, ids, thumbnails))
        settings: dict[str, object] = {"checkpoint": [model.checkpoint for model in report.models]}
    else:
        ids = [hit.video_id for query in report.queries for answer in query.answers for hit in answer.hits]
        page = render_explanations(report, read_pictures(frames, ids, thumbnails))
        settings = {name: getattr(report, name) for name in ("checkpoint", "space", "latent_weight")}
    settings |= {"data": [report.data], "hits": flags.k, "tags": flags.tags, "queries": len(report.queries)}
    storage.write_bytes(out / PAGE, page.encode())
    storage.write_json(out / VALUES, report.to_json())
    print("\n".join([*_lines(report), f"page        {(out / PAGE).uri}"]))
    print_link(out / PAGE)

    def write(run: TrackedRun) -> None:
        run.log_params(settings)
        if manifest is not None:
            run.log_input(manifest, "explaining")
        run.log_json(VALUES, report.to_json())
        run.log_text(PAGE, page)

    names = ["index"] if manifest is None else short_names([manifest])
    log_run(flags.experiment, "explain", loaded, names, write)


def _lines(report: Report) -> list[str]:
    """A line for each model: what its answers are, and how many known ones came first."""
    if isinstance(report, ExampleReport):
        lines = [f"{model.title}: {model.similarity}, {len(report.queries)} queries" for model in report.models]
    else:
        lines = [
            f"{system.title:<11} {described(system.transform)}: C@10 {100 * system.causality_few[0]:.1f} %, "
            f"C@30 {100 * system.causality_many[0]:.1f} % over {system.num_hits} hits"
            for system in report.systems
        ]
    for place in range(len(lines)):
        ranks = [query.answers[place].right_rank for query in report.queries]
        known = [rank for rank in ranks if rank is not None]
        noun = "item" if isinstance(report, ExampleReport) else "video"
        lines[place] += f", right {noun} first for {known.count(1)} of {len(known)}" if known else ""
    return lines
