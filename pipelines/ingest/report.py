"""What an ingest wrote, as lines for the terminal or as JSON."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vtr_core.data.ingest.ingest import IngestResult
    from vtr_core.data.ingest.plan import IngestPlan
    from vtr_core.data.manifest import Manifest


def tell_empty_splits(plan: "IngestPlan") -> None:
    """Print which of the shares of --splits no video fell into: with few videos the random split may leave one out."""
    empty = [name for name, share in plan.options.splits.items() if share > 0 and name not in plan.splits]
    if empty:
        videos = sum(len(task.videos) for task in plan.tasks)
        print(
            f"  no data set {', '.join(empty)}: none of the {videos} videos fell into that share of --splits; give "
            "larger shares, more videos, or another --split-seed"
        )


def tell_complete() -> None:
    """Print that nothing is left to do, and by what that is known."""
    print(
        "  it is there already, complete: the same videos, words and settings. Captions and features are not compared; "
        "where they have changed, delete it and repeat the command"
    )


def report(result: "IngestResult", as_json: bool = False) -> None:
    """Print the written data sets and the dropped rows, for people or as JSON."""
    if as_json:
        _report_json(result)
        return
    from vtr_core.data.records.schema import ImageSchema
    from vtr_core.data.sources.kept import KEPT
    from vtr_core.fingerprint import short

    for manifest in result.manifests:
        if isinstance(manifest.schema, ImageSchema):
            print(_images_line(manifest))
            continue
        print(
            f"{manifest.uri}: {manifest.schema.label()}, {manifest.rows} rows of {manifest.videos} videos "
            f"in {len(manifest.shards)} shards; {_content(manifest)}; {manifest.vocabulary.num_words} words; "
            f"fingerprint {short(manifest.fingerprint)}"
        )
    for reason, count in sorted(result.drops.counts.items()):
        example = result.drops.examples[reason][0]
        if reason == KEPT:
            print(f"kept {count} test rows without features, which count as failures, for instance: {example}")
        else:
            print(f"dropped {count} × {reason}, for instance {example}")
    if result.drops.shortened:
        most = result.manifests[0].schema.max_words
        print(f"cut {result.drops.shortened} captions, which have more words than --max-words {most}")


def _report_json(result: "IngestResult") -> None:
    from pipelines.report.json_result import print_json

    sets = [
        {
            "uri": one.uri,
            "kind": one.schema.label(),
            "rows": one.rows,
            "videos": one.videos,
            "shards": len(one.shards),
            "fingerprint": one.fingerprint,
        }
        for one in result.manifests
    ]
    drops = {"dropped": dict(result.drops.counts), "shortened": result.drops.shortened}
    print_json({"data_sets": sets, **drops})


def _content(manifest: "Manifest") -> str:
    """The content of a row beside its captions."""
    from vtr_core.data.records.schema import FrameSchema

    schema = manifest.schema
    if isinstance(schema, FrameSchema):
        found = f"{schema.height} x {schema.width} RGB as {schema.encoding}"
    else:
        found = ", ".join(f"{feature.name} {feature.dim}" for feature in schema.features)
    return f"{found}, thumbnails" if any(shard.thumbnails for shard in manifest.shards) else found


def _images_line(manifest: "Manifest") -> str:
    from vtr_core.data.records.schema import ImageSchema
    from vtr_core.fingerprint import short

    schema, pairs = manifest.schema, manifest.source["pairs"]
    assert isinstance(schema, ImageSchema)
    return (
        f"{manifest.uri}: {schema.label()}, {manifest.rows} images of {manifest.videos} subjects, "
        f"{schema.height} x {schema.width} {'grey' if schema.channels == 1 else 'RGB'}, in {len(manifest.shards)} "
        f"shards; {pairs['matching']} matching and {pairs['different']} different pairs ({pairs['origin']}); "
        f"fingerprint {short(manifest.fingerprint)}"
    )
