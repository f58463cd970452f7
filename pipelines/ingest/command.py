"""`vtr ingest <source>`: raw features and annotations to Parquet shards with a manifest, as a Ray Data job."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse_both, parse_known, print_help, wants_help
from pipelines.ingest.ingest_options import (
    IngestFlags,
    RecordFlags,
    Records,
    counted_words,
    given_words,
    ingest_options,
    ingest_sources,
)
from vtr_core.errors import ConfigError, nearest

if TYPE_CHECKING:
    from vtr_core.data.ingest.ingest import IngestResult
    from vtr_core.data.ingest.plan import IngestPlan, ShardTask
    from vtr_core.data.manifest import Manifest


def report(result: "IngestResult", as_json: bool = False) -> None:
    """Print the written data sets and the dropped rows, for people or as JSON."""
    if as_json:
        _report_json(result)
        return
    from vtr_core.data.sources.source import KEPT

    for manifest in result.manifests:
        print(_summary(manifest))
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
    from pipelines.arguments import print_json

    sets = [
        {
            "uri": manifest.uri,
            "kind": manifest.schema.label(),
            "rows": manifest.rows,
            "videos": manifest.videos,
            "shards": len(manifest.shards),
            "fingerprint": manifest.fingerprint,
        }
        for manifest in result.manifests
    ]
    drops = {"dropped": dict(result.drops.counts), "shortened": result.drops.shortened}
    print_json({"data_sets": sets, **drops})


def _summary(manifest: "Manifest") -> str:
    """A data set in a line: its size, and what a row holds beside its captions."""
    from vtr_core.data.records.schema import FrameSchema, ImageSchema
    from vtr_core.fingerprint import short

    schema, shards = manifest.schema, f"{len(manifest.shards)} shards"
    if isinstance(schema, ImageSchema):
        pairs, colours = manifest.source["pairs"], "grey" if schema.channels == 1 else "RGB"
        size = f"{manifest.rows} images of {manifest.videos} subjects, {schema.height} x {schema.width} {colours}, "
        content = (
            f"in {shards}; {pairs['matching']} matching and {pairs['different']} different pairs ({pairs['origin']})"
        )
    else:
        size = f"{manifest.rows} rows of {manifest.videos} videos in {shards}; "
        content = ", ".join(f"{feature.name} {feature.dim}" for feature in schema.features)
        if isinstance(schema, FrameSchema):
            content = f"{schema.height} x {schema.width} RGB as jpeg"
        content += ", thumbnails" if any(shard.thumbnails for shard in manifest.shards) else ""
        content += f"; {manifest.vocabulary.num_words} words"
    return f"{manifest.uri}: {schema.label()}, {size}{content}; fingerprint {short(manifest.fingerprint)}"


HELP = """\
usage: vtr ingest <source> --out URI [flags]      vtr ingest <source> --help

  howto100m   per-video .npy features (2D, 3D, audio) and timed narration: CSV or the HowTo100M caption JSON
  msrvtt      the official MSR-VTT annotation files and per-video .npy features; --records videos keeps all frames
  msvd        MSVD's captions and lists of splits, and per-video .npy features, likewise
  didemo      DiDeMo's descriptions, all of a video as one paragraph, likewise
  activitynet  ActivityNet Captions, all sentences of a video as one paragraph, likewise; val_1 is the test
  pairs       your own data: a table of ids, feature files and captions
  synthetic   synthetic narrated videos, as many as wanted; --records videos: described videos with all frames
  youcook2    the validation clips of YouCook2 as a test set: its CSV and per-video .npy features

whole videos with the features of a BigFile (feature.bin, shape.txt, id.txt), as the published dual encoders use:

  bigfile   any collection, with or without a file of captions
  tgif      TGIF: the release's table of sentences and its lists of splits
  trecvid   TRECVID's test collections (IACC.3, V3C1), and TV2016TRAIN

captions alone, for caption-pretrain:

  captions  a table of captions without videos

whole videos with patch tokens, for MUSE:

  clip_frames  computed by a pretrained encoder (CLIP: hf: or open-clip:) from folders of JPEG or PNG frames
  clip_tokens  precomputed: per-video .npy of frame tokens and caption vectors; captions of these data sets
               (--data-set) or a table
  synthetic_tokens  synthetic videos whose captions describe a small object in the frames

videos with the ordered steps of a task, for vtr evaluate --task localization:

  crosstask        the released tasks, video list and annotations, and per-video .npy features
  mining_youtube   the released .srt annotations and classes, and per-video .npy features
  synthetic_steps  tasks of the synthetic videos, for a model trained on synthetic clips

face images, for Siamese networks:

  faces     a folder of images (PGM, PNG, JPEG) per subject, for instance AT&T's
  lfw       Labeled Faces in the Wild with one of its pair lists
"""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or argv[0] in ("-h", "--help"):
        print(HELP, end="")
        return
    prog = f"vtr ingest {argv[0]}"
    kind, rest = parse_known(RecordFlags, argv[1:], prog)
    source_class = _source(argv[0], kind.records)
    if wants_help(rest):
        print_help(prog, RecordFlags, IngestFlags, source_class)
        return
    flags, source = parse_both(IngestFlags, source_class, rest, prog, RecordFlags)
    from pipelines.arguments import json_alone

    with json_alone(flags.json):
        result = ingest(source, flags)
    report(result, flags.json)


def _source(name: str, records: Records) -> type[Any]:
    sources, whole_videos = ingest_sources(), ingest_sources(whole_videos=True)
    if name not in sources:
        hint = nearest(name, sources, f"sources: {', '.join(sorted(sources))}")
        raise ConfigError(f"there is no source {name!r}; {hint}")
    if records == "clips":
        return sources[name]
    if name not in whole_videos:
        raise ConfigError(
            f"{name} cannot keep videos whole; leave out --records videos, or use one of "
            f"{', '.join(sorted(whole_videos))}"
        )
    return whole_videos[name]


def ingest(source: Any, flags: IngestFlags) -> "IngestResult":
    """Ingest `source`; resumes an interrupted ingest with the same settings."""
    from vtr_core.data.ingest.plan import plan_ingest
    from vtr_core.storage import check_writable, locate

    check_writable(locate(flags.out))
    words = given_words(flags)
    options = ingest_options(flags)
    print(f"ingest {source.name}: listing videos and words", flush=True)
    count = partial(counted_words, flags)
    plan = plan_ingest(source, locate(flags.out), words, options, flags.word_vectors, count)
    return carry_out(plan, lambda tasks: _run(plan, tasks, flags))


def carry_out(plan: "IngestPlan", run: "Callable[[Sequence[ShardTask]], None]") -> "IngestResult":
    """Claim the output, `run` the unfinished tasks and write the manifests; nothing where it is there, complete."""
    from vtr_core.data.ingest.ingest import abandon, claim, finish, finished, is_complete, unfinished

    empty = [name for name, share in plan.options.splits.items() if share > 0 and name not in plan.splits]
    if empty:
        videos = sum(len(task.videos) for task in plan.tasks)
        print(
            f"  no data set {', '.join(empty)}: none of the {videos} videos fell into that share of --splits; give "
            "larger shares, more videos, or another --split-seed"
        )
    if is_complete(plan):
        print(
            "  it is there already, complete: the same videos, words and settings. Captions and features are not "
            "compared; where they have changed, delete it and repeat the command"
        )
        return finished(plan)
    is_new = claim(plan)
    try:
        run(unfinished(plan))
        return finish(plan)
    except Exception:
        if is_new:
            abandon(plan)
        raise


def _run(plan: "IngestPlan", tasks: "Sequence[ShardTask]", flags: IngestFlags) -> None:
    """Write the shards of `tasks`."""
    from pipelines.progress import Meter

    if not tasks:
        return
    already = len(plan.tasks) - len(tasks)
    if already:
        print(f"  {already} of {len(plan.tasks)} shards were written before", flush=True)
    written = map(partial(_write, plan), tasks) if flags.workers == 0 else _written_on_ray(plan, tasks, flags)
    with Meter(len(plan.tasks), "shards", already) as meter:
        for done, (name, rows) in enumerate(written, already + 1):
            meter.tell(done, f"{name} with {rows:,} rows")


def _written_on_ray(plan: "IngestPlan", tasks: "Sequence[ShardTask]", flags: IngestFlags) -> Iterable[tuple[str, int]]:
    from pipelines.ray_session import begin_reading, on_ray

    placed = begin_reading(flags.worker_logs, apart=not flags.gpus_per_shard)  # otherwise tasks go to nodes with GPUs
    if placed.is_apart and not flags.gpus_per_shard:
        print(f"  on {placed}", flush=True)
    return on_ray(_write, replace(plan, tasks=()), tasks, flags.gpus_per_shard)


def _write(plan: "IngestPlan", task: "ShardTask") -> tuple[str, int]:
    """Write a shard; returns the task's name and the number of rows."""
    from vtr_core.data.ingest.ingest import do

    return task.name, do(plan, task)["shard"]["rows"]
