"""`vtr ingest <source>`: raw features and annotations to Parquet shards with a manifest, as a Ray Data job."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pipelines.arguments import parse_both, parse_known, print_help, wants_help
from vtr_core.config.caption_text import Tokenizer, UnknownWords
from vtr_core.errors import ConfigError, nearest

if TYPE_CHECKING:
    from vtr_core.data.ingest.ingest import IngestResult
    from vtr_core.data.ingest.plan import CountWords, IngestOptions, IngestPlan, ShardTask
    from vtr_core.data.manifest import Manifest
    from vtr_core.data.shards.word_table import WordTable
    from vtr_core.data.sources.source import AnySource, VideoEntry
    from vtr_core.text.tokens.word_tags import WordTags

Records = Literal["clips", "videos"]
VIDEOS_AT_ONCE = 1024
"""Videos per task of counting words; up to this number the command counts itself."""
HELP = """\
usage: vtr ingest <source> --out URI [flags]      vtr ingest <source> --help

  howto100m   per-video .npy features (2D, 3D, audio) and timed narration: CSV or the HowTo100M caption JSON
  msrvtt      the official MSR-VTT annotation files and per-video .npy features; --records videos keeps all frames
  msvd        MSVD's captions and lists of splits, and per-video .npy features, likewise
  didemo      DiDeMo's descriptions, all of a video as one paragraph, likewise
  activitynet  ActivityNet Captions, all sentences of a video as one paragraph, likewise; val_1 is the test
  lsmdc       LSMDC's clips of films with their sentences, likewise; the public 1,000 are the test
  pairs       your own data: a table of ids, feature files and captions
  synthetic   synthetic narrated videos, as many as wanted; --records videos: described videos with all frames
  youcook2    the validation clips of YouCook2 as a test set: its CSV and per-video .npy features

whole videos with the features of a BigFile (feature.bin, shape.txt, id.txt), as the published dual encoders use:

  bigfile   any collection, with or without a file of captions
  tgif      TGIF: the release's table of sentences and its lists of splits
  trecvid   TRECVID's test collections (IACC.3, V3C1), and TV2016TRAIN

whole videos with patch tokens, for MUSE:

  clip_frames  computed by an open_clip model from folders of JPEG or PNG frames (needs the extra clip)
  clip_tokens  precomputed: per-video .npy or .npz of frame tokens and caption vectors; captions of these data sets
               (--data-set) or a table
  synthetic_tokens  synthetic videos whose captions describe a small object in the frames

videos with the ordered steps of a task, for vtr evaluate --task localization:

  crosstask        the released tasks, video list and annotations, and per-video .npy features
  mining_youtube   the released .srt annotations and classes, and per-video .npy features
  synthetic_steps  tasks of the synthetic videos, for a model trained on synthetic clips

face images, for Siamese networks:

  faces     a folder of images (PGM, PNG, JPEG) per subject, for instance AT&T's
  lfw       Labeled Faces in the Wild with one of its pair lists; downloaded by scikit-learn without --root
  olivetti  AT&T's 40 subjects at 64 x 64, downloaded by scikit-learn
"""


@dataclass(frozen=True)
class RecordFlags:
    """The flag that selects the kind of records, on which a source's settings depend."""

    records: Records = "clips"
    """What a row is. clips: a clip and a caption, features pooled over time; videos (msrvtt, msvd, didemo, activitynet,
    lsmdc, synthetic): a whole video, with all frames and captions. Other sources have one kind of row."""


@dataclass(frozen=True)
class IngestFlags:
    """Flags of all sources."""

    out: str
    """Output folder or URI; with splits, one data set per split is written below it."""
    splits: dict[str, float] = field(default_factory=dict)
    """Split randomly by video, for instance: --splits train .8 val .1 test .1 (default: the source's splits)."""
    split_seed: int = 0
    """Random seed of the split and of the order of videos."""
    word_vectors: str | None = None
    """word2vec (binary or text) or GloVe file, or BigFile folder (feature.bin, shape.txt, id.txt); without it, word
    vectors are trained with the model."""
    vocabulary: str | None = None
    """Use the vocabulary and word vectors of this data set instead."""
    preset: str | None = None
    """Settings of captions that this preset of vtr train asks for, such as hybrid-msrvtt-published; the flags below
    give the others."""
    min_count: int | None = None
    """Minimum number of occurrences of a vocabulary word in the training captions (default: 1)."""
    tokenizer: Tokenizer | None = None
    """Tokenizer of captions, fixed for the data set: words (default; runs of letters of any alphabet, digits and
    apostrophes), or alphanumeric (A-Z, a-z and 0-9 only, as the published dual encoders)."""
    unknown_words: UnknownWords | None = None
    """Words outside the vocabulary: dropped (default), or token (each becomes <unk>, which dual encoders read)."""
    tagger: str | None = None
    """Part-of-speech tagger, which makes words measure/verb: default (included), spacy:NAME or spacy:FOLDER,
    wordnet:FOLDER, treetagger:FOLDER, nltk or nltk:FOLDER (default: no parts of speech)."""
    max_words: int | Literal["longest"] | None = None
    """Captions are cut after this number of words; longest: none is cut (default: 20)."""
    videos_per_shard: int = 256
    """Videos per Parquet file."""
    strict: bool = False
    """Fail where a row would be dropped."""
    gpus_per_shard: float = 0.0
    """GPUs per shard task; 0.25 lets four tasks share one (clip_frames --device cuda)."""
    workers: Literal[0] | None = None
    """0: in this process, without Ray, one shard after another. Otherwise tasks on the whole cluster."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""


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
    from pipelines.report.json_result import json_alone

    with json_alone(flags.json):
        result = ingest(source, flags)
    report(result, flags.json)


def _source(name: str, records: Records) -> type[Any]:
    from vtr_core.data.sources.all import SOURCES, WHOLE_VIDEOS

    if name not in SOURCES:
        hint = nearest(name, SOURCES, f"sources: {', '.join(SOURCES)}")
        raise ConfigError(f"there is no source {name!r}; {hint}")
    if records == "clips":
        return SOURCES[name]
    if name not in WHOLE_VIDEOS:
        raise ConfigError(
            f"{name} cannot keep videos whole; leave out --records videos, or use one of {', '.join(WHOLE_VIDEOS)}"
        )
    return WHOLE_VIDEOS[name]


def ingest(source: Any, flags: IngestFlags) -> "IngestResult":
    """Ingest `source`; resumes an interrupted ingest with the same settings."""
    from vtr_core.data.ingest.ingest import abandon, begin, finish, finished, is_complete
    from vtr_core.data.ingest.plan import plan_ingest
    from vtr_core.storage import check_writable, locate

    check_writable(locate(flags.out))
    words = _given_words(flags)
    options = ingest_options(flags)
    print(f"ingest {source.name}: listing videos and words", flush=True)
    plan = plan_ingest(source, locate(flags.out), words, options, flags.word_vectors, count_on_ray(flags))
    if is_complete(plan):
        print("  it is there already, complete")
        return finished(plan)
    try:
        _run(plan, begin(plan), flags)
        return finish(plan)
    except Exception:
        abandon(plan)
        raise


def ingest_options(flags: IngestFlags) -> "IngestOptions":
    """The options from flags and preset; ConfigError where they contradict each other."""
    from vtr_core.data.ingest.plan import IngestOptions

    words: dict[str, Any] = {
        "tokenizer": flags.tokenizer,
        "min_count": flags.min_count,
        "unknown": flags.unknown_words,
        "uncut": None if flags.max_words is None else flags.max_words == "longest",
        "tagged": None if flags.tagger is None else True,
    }
    for name, asked in _asked(flags.preset).items():
        if words[name] not in (None, asked):
            raise ConfigError(
                f"--preset {flags.preset} asks for {name} = {asked}, not {words[name]}; leave out that flag"
            )
        words[name] = asked
    if isinstance(flags.max_words, int):
        if flags.max_words < 1:
            raise ConfigError(f"--max-words is {flags.max_words}; it must be at least 1, or longest")
        max_words: int | None = flags.max_words
    else:
        max_words = None if words["uncut"] else 20
    return IngestOptions(
        splits=flags.splits,
        seed=flags.split_seed,
        max_words=max_words,
        min_count=words["min_count"] or 1,
        tokenizer=words["tokenizer"] or "words",
        unknown=words["unknown"] or "dropped",
        tagger=flags.tagger or ("default" if words["tagged"] else None),
        videos_per_shard=flags.videos_per_shard,
        strict=flags.strict,
    )


def _asked(name: str | None) -> dict[str, Any]:
    """The caption settings of a preset."""
    from vtr_core.run.presets import preset

    return {} if name is None else preset(name).captions.asked


def _given_words(flags: IngestFlags) -> "WordTable | None":
    """The vocabulary of the data set of --vocabulary."""
    from vtr_core.data.manifest import Manifest, data_set
    from vtr_core.data.shards.word_table import WordTable

    if flags.vocabulary is None:
        return None
    if flags.word_vectors is not None:
        raise ConfigError("give --vocabulary or --word-vectors, not both")
    if flags.tagger is not None:
        raise ConfigError("--vocabulary brings its tagger; leave out --tagger")
    words = WordTable.load(Manifest.load(data_set(flags.vocabulary, "train")))
    if words.vocabulary.pairs is not None:
        raise ConfigError(
            f"the vocabulary of {flags.vocabulary} is of CLIP's pieces of words, for --records frames of vtr extract; "
            "give the --vocabulary of another data set"
        )
    if flags.tokenizer not in (None, words.vocabulary.tokenizer):
        raise ConfigError(
            f"the vocabulary of {flags.vocabulary} is of {words.vocabulary.tokenizer}, not of {flags.tokenizer}; "
            "leave out --tokenizer, or --vocabulary"
        )
    return words


def count_on_ray(flags: IngestFlags) -> "CountWords":
    """The function that counts words: in this process, or, for many videos, in Ray tasks whose counts are added."""
    from vtr_core.data.ingest.plan import count_words

    def count(
        source: "AnySource", videos: "Sequence[VideoEntry]", tokenizer: Tokenizer, tags: "WordTags | None"
    ) -> Counter[str]:
        if flags.workers == 0 or len(videos) <= VIDEOS_AT_ONCE:
            return count_words(source, videos, tokenizer, tags)
        from pipelines.ingest.on_ray import begin_reading, on_ray

        begin_reading(flags.worker_logs, apart=True)
        parts = [videos[first : first + VIDEOS_AT_ONCE] for first in range(0, len(videos), VIDEOS_AT_ONCE)]
        total: Counter[str] = Counter()
        for done, counts in enumerate(on_ray(partial(_counted, tokenizer, tags), source, parts), 1):
            total.update(counts)
            print(f"  words of {min(done * VIDEOS_AT_ONCE, len(videos))} of {len(videos)} videos", flush=True)
        return total

    return count


def _counted(
    tokenizer: Tokenizer, tags: "WordTags | None", source: "AnySource", videos: "Sequence[VideoEntry]"
) -> Counter[str]:
    from vtr_core.data.ingest.plan import count_words

    return count_words(source, videos, tokenizer, tags)


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
    from pipelines.ingest.on_ray import begin_reading, on_ray

    placed = begin_reading(flags.worker_logs, apart=not flags.gpus_per_shard)  # otherwise tasks go to nodes with GPUs
    if placed.is_apart and not flags.gpus_per_shard:
        print(f"  on {placed}", flush=True)
    return on_ray(_write, replace(plan, tasks=()), tasks, flags.gpus_per_shard)


def _write(plan: "IngestPlan", task: "ShardTask") -> tuple[str, int]:
    """Write a shard; returns the task's name and the number of rows."""
    from vtr_core.data.ingest.ingest import do

    return task.name, do(plan, task)["shard"]["rows"]


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
