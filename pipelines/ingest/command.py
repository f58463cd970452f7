"""`vtr ingest <source>`: raw features and annotations to Parquet shards with a manifest, as a Ray Data job."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pipelines.arguments import parse_both, parse_known, print_help, wants_help
from vtr_core.config.caption_text import Tokenizer, UnknownWords
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.ingest.ingest import IngestOptions, IngestPlan, IngestResult, ShardTask
    from vtr_core.data.manifest import Manifest
    from vtr_core.data.shards.word_table import WordTable

Records = Literal["clips", "videos"]
HELP = """\
usage: vtr ingest <source> --out URI [flags]      vtr ingest <source> --help

  howto100m   per-video .npy features (2D, 3D, audio) and timed narration: CSV or the HowTo100M caption JSON
  msrvtt      the official MSR-VTT annotation files and per-video .npy features; --records videos keeps frames
  pairs       your own data: a table of ids, feature files and captions
  synthetic   a deterministic world of narrated videos, of any size; --records videos: of described videos, with frames
  youcook2    the validation clips of YouCook2 as a test set: its CSV and per-video .npy features

whole videos whose features are a BigFile (feature.bin, shape.txt, id.txt), as the published dual encoders have them:

  bigfile   any collection, with a file of captions or without
  tgif      TGIF: the release's table of sentences and its lists of splits
  trecvid   TRECVID's shots to be searched (IACC.3, V3C1), and TV2016TRAIN

whole videos with tokens of patches, for MUSE:

  clip_frames  computed by a model of open_clip from folders of JPEG or PNG frames (the extra clip)
  clip_tokens  saved ones: per-video .npy or .npz of frame tokens and of caption vectors; MSR-VTT's captions or a table
  synthetic_tokens  a deterministic world in which a small thing in a frame decides what is told

videos with the ordered steps of a task, for vtr evaluate --task localization:

  crosstask        the release's tasks, list of videos and annotations, and per-video .npy features
  mining_youtube   the release's .srt annotations and classes, and per-video .npy features
  synthetic_steps  tasks of the synthetic world, to be localised by a model trained on its clips

images of subjects, for Siamese networks of faces:

  faces     your own, or AT&T's: a folder of images (PGM, PNG, JPEG) for each subject
  lfw       Labeled Faces in the Wild with the pairs of one of its files; without --root through scikit-learn
  olivetti  AT&T's 40 subjects in 64 x 64, through scikit-learn
"""


@dataclass(frozen=True)
class RecordFlags:
    """What a row is; it decides which settings a source has."""

    records: Records = "clips"
    """clips: a row per clip and caption, pooled; videos (msrvtt, synthetic): a row per video, with all frames and
    captions. The other sources have one kind of rows."""


@dataclass(frozen=True)
class IngestFlags:
    """What every source takes."""

    out: str
    """Folder or URI of the data set; with splits, one data set is written below it for each."""
    splits: dict[str, float] = field(default_factory=dict)
    """Split by video into these shares, for instance: --splits train .8 val .1 test .1 (default: the source's own)."""
    split_seed: int = 0
    """Seed of that split and of the order of videos."""
    word_vectors: str | None = None
    """word2vec (binary or text) or GloVe file; without one, vectors are learned in training."""
    vocabulary: str | None = None
    """Take words and vectors from this data set instead."""
    preset: str | None = None
    """Make captions into words as this preset of vtr train asks, such as hybrid-msrvtt-published, and as the flags
    below say where it asks nothing."""
    min_count: int | None = None
    """Occurrences in the training captions that a word needs (default: 1)."""
    tokenizer: Tokenizer | None = None
    """What cuts captions into words, for good: runs of letters of any alphabet, digits and apostrophes (words, the
    default), or of A-Z, a-z and 0-9 alone (alphanumeric), as the published dual encoders do."""
    unknown_words: UnknownWords | None = None
    """What becomes of words outside the vocabulary: dropped (the default), or each one a token, <unk>, which dual
    encoders read."""
    tagger: str | None = None
    """Give every word its part of speech, measure/verb, by this tagger: default (comes with vtr), spacy:NAME or
    spacy:FOLDER, wordnet:FOLDER, treetagger:FOLDER."""
    max_words: int | Literal["longest"] | None = None
    """Words kept of a caption, or as many as the longest one has (default: 20)."""
    videos_per_shard: int = 256
    """Videos in a Parquet file."""
    strict: bool = False
    """Make anything that would be dropped an error."""
    gpus_per_shard: float = 0.0
    """Share of a GPU that each shard's task takes: at 0.25 four of them share one (clip_frames --device cuda)."""
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
    report(ingest(source, flags))


def _source(name: str, records: Records) -> type[Any]:
    from vtr_core.data.sources.all import SOURCES, WHOLE_VIDEOS

    if name not in SOURCES:
        raise ConfigError(f"there is no source {name!r}; sources: {', '.join(SOURCES)}")
    if records == "clips":
        return SOURCES[name]
    if name not in WHOLE_VIDEOS:
        raise ConfigError(
            f"{name} cannot keep videos whole; leave out --records videos, or use msrvtt, clip_tokens or synthetic"
        )
    return WHOLE_VIDEOS[name]


def ingest(source: Any, flags: IngestFlags) -> "IngestResult":
    """Ingest `source`; resumes what an interrupted ingest of the same settings began."""
    from vtr_core.data.ingest.ingest import abandon, begin, finish, finished, is_complete, plan_ingest
    from vtr_core.storage import check_writable, locate

    check_writable(locate(flags.out))
    words = _given_words(flags)
    options = ingest_options(flags)
    print(f"ingest {source.name}: listing videos and words", flush=True)
    plan = plan_ingest(source, locate(flags.out), words, options, flags.word_vectors)
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
    """What the flags decide; ConfigError where one of them contradicts the preset."""
    from vtr_core.data.ingest.ingest import IngestOptions

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
    """What a preset asks of captions."""
    from vtr_core.run.presets import preset

    return {} if name is None else preset(name).captions.asked


def _given_words(flags: IngestFlags) -> "WordTable | None":
    """The words of the data set that --vocabulary names."""
    from vtr_core.data.manifest import Manifest
    from vtr_core.data.shards.word_table import WordTable

    if flags.vocabulary is None:
        return None
    if flags.word_vectors is not None:
        raise ConfigError("give --vocabulary or --word-vectors, not both")
    if flags.tagger is not None:
        raise ConfigError("--vocabulary brings its tagger; leave out --tagger")
    words = WordTable.load(Manifest.load(flags.vocabulary))
    if flags.tokenizer not in (None, words.vocabulary.tokenizer):
        raise ConfigError(
            f"the vocabulary of {flags.vocabulary} is of {words.vocabulary.tokenizer}, not of {flags.tokenizer}; "
            "leave out --tokenizer, or --vocabulary"
        )
    return words


def _run(plan: "IngestPlan", tasks: "Sequence[ShardTask]", flags: IngestFlags) -> None:
    """Write the shards of `tasks` in parallel, with a line for each."""
    import ray
    from ray import cloudpickle
    from ray.data import DataContext

    from pipelines.ray_session import connect
    from vtr_core.data.ingest.ingest import do
    from vtr_core.errors import InputError, VtrError
    from vtr_core.train.fleet.placement import place_reading, placement

    if not tasks:
        return
    connect(worker_logs=flags.worker_logs)
    DataContext.get_current().enable_progress_bars = False
    placed = placement("auto")
    if not flags.gpus_per_shard:  # else tasks go where there are GPUs
        place_reading(placed)
        if placed.is_apart:
            print(f"  on {placed}", flush=True)
    shared = ray.put(replace(plan, tasks=()))

    def write(item: dict[str, bytes]) -> dict[str, Any]:
        task: ShardTask = cloudpickle.loads(item["task"])
        try:
            record = do(ray.get(shared), task)
        except VtrError as error:
            return {"task": task.name, "rows": 0, "error": str(error)}
        return {"task": task.name, "rows": record["shard"]["rows"], "error": ""}

    items = ray.data.from_items([{"task": cloudpickle.dumps(task)} for task in tasks], override_num_blocks=len(tasks))
    already = len(plan.tasks) - len(tasks)
    if already:
        print(f"  {already} of {len(plan.tasks)} shards were written before", flush=True)
    for done, row in enumerate(items.map(write, num_gpus=flags.gpus_per_shard or None).iter_rows(), already + 1):
        if row["error"]:
            raise InputError(row["error"])
        print(f"  shard {done}/{len(plan.tasks)}  {row['task']}  {row['rows']} rows", flush=True)


def report(result: "IngestResult") -> None:
    """Print the data sets written and what was dropped."""
    from vtr_core.data.records.schema import ImageSchema
    from vtr_core.data.sources.kept import KEPT
    from vtr_core.fingerprint import short

    for manifest in result.manifests:
        features = ", ".join(f"{f.name} {f.dim}" for f in manifest.schema.features)
        if isinstance(manifest.schema, ImageSchema):
            print(_images_line(manifest))
            continue
        print(
            f"{manifest.uri}: {manifest.schema.label()}, {manifest.rows} rows of {manifest.videos} videos "
            f"in {len(manifest.shards)} shards; {features}; {manifest.vocabulary.num_words} words; "
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
