"""`vtr explain CHECKPOINT… --data URI --query TEXT` for models of one joint space: what each of them retrieves."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipelines.explain.flags import PAGE, VALUES, ExplainQueriesFlags, given_queries
from pipelines.explain.video_files import video_files
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.retrieval.explain.example_values import ExampleReport
    from vtr_core.tracking.run import TrackedRun
    from vtr_core.train.checkpoint.load import LoadedModel


def explain_examples(flags: ExplainQueriesFlags, first: "LoadedModel") -> "ExampleReport":
    """Retrieve with every model, write the page and its JSON, and log both as a run of the experiment.

    first: the model of the first checkpoint; the others are loaded one at a time.
    """
    from pipelines.evaluation_inputs import short_names
    from pipelines.report.links import print_link
    from pipelines.report.logged_run import log_run
    from vtr_core import storage
    from vtr_core.data.shards.thumbnails import Thumbnails
    from vtr_core.extraction.clip_frames import ClipFrames, ClipSpan
    from vtr_core.retrieval.explain.frames import check_frames, read_pictures
    from vtr_core.retrieval.explain.page import render_examples
    from vtr_core.run.inputs import usable_data
    from vtr_core.storage import check_writable, locate

    _check(flags, first.config.model.kind)
    assert flags.out is not None
    out, frames = locate(flags.out), None if flags.keyframes is None else locate(flags.keyframes)
    check_frames(frames)
    assert flags.data is not None, "checked"
    manifest = usable_data(first.config.model, flags.data)
    videos = video_files(flags.videos, manifest)
    check_writable(out)
    report = _report(flags, first, manifest)
    hits = [hit for query in report.queries for answer in query.answers for hit in answer.hits]
    spans = [ClipSpan(hit.item_id, hit.video_id, hit.start or 0.0, hit.end or 0.0) for hit in hits]
    cut = ClipFrames(Thumbnails(manifest), videos, spans)
    page = render_examples(report, read_pictures(frames, [hit.item_id for hit in hits], cut))
    storage.write_bytes(out / PAGE, page.encode())
    storage.write_json(out / VALUES, report.to_json())
    _print(report, (out / PAGE).uri)
    print_link(out / PAGE)
    names = short_names([manifest])
    log_run(flags.experiment, "explain", first, names, lambda run: _log(run, flags, manifest, report, page))
    return report


def _check(flags: ExplainQueriesFlags, kind: str) -> None:
    """ConfigError for flags that need a concept space."""
    concept_flags = {
        "--serve": flags.serve,
        "--transform": flags.transform,
        "--space": flags.space,
        "--latent-weight": flags.latent_weight,
    }
    given = [name for name, value in concept_flags.items() if value not in (None, False)]
    if given:
        raise ConfigError(
            f"vtr explain: a {kind!r} model has one space and no concepts; leave out {' and '.join(given)}"
        )


def _report(flags: ExplainQueriesFlags, first: "LoadedModel", manifest: "Manifest") -> "ExampleReport":
    from vtr_core.retrieval.embed.joint_space import JointSpace
    from vtr_core.retrieval.explain.example_values import ComparedModel, ExampleQuery, ExampleReport
    from vtr_core.retrieval.explain.examples import examples
    from vtr_core.retrieval.explain.report import model_titles
    from vtr_core.retrieval.explain.values import ExplainOptions
    from vtr_core.retrieval.spaces import spaces_of

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
    from vtr_core.train.checkpoint.load import load_model

    yield first
    for checkpoint in flags.against:
        yield load_model(checkpoint, device())


def _print(report: "ExampleReport", page: str) -> None:
    for place, model in enumerate(report.models):
        ranks = [query.answers[place].right_rank for query in report.queries]
        known = [rank for rank in ranks if rank is not None]
        right = f", right item first for {known.count(1)} of {len(known)}" if known else ""
        print(f"{model.title}: {model.similarity}, {len(report.queries)} queries{right}")
    print(f"page        {page}")


def _log(
    tracked: "TrackedRun", flags: ExplainQueriesFlags, manifest: "Manifest", report: "ExampleReport", page: str
) -> None:
    checkpoints = [model.checkpoint for model in report.models]
    counts = {"hits": flags.k, "tags": flags.tags, "queries": len(report.queries)}
    tracked.log_params({"checkpoint": checkpoints, "data": [manifest.uri], **counts})
    tracked.log_input(manifest, "explaining")
    tracked.log_json(VALUES, report.to_json())
    tracked.log_text(PAGE, page)
