"""MSR-VTT-800 as whole videos, split by video; and as the thesis makes its data, with and without parts of speech."""

from pathlib import Path

from benchmarks.caption_vectors import caption_vectors, write_glove
from benchmarks.msrvtt_ridge import SHARES, allowed_text, msrvtt
from pipelines.concepts.command import ConceptFlags, concepts
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.systems.dual.thesis_rows import Sets
from vtr_core.data.concepts.concept_table import FILE as CONCEPTS
from vtr_core.data.manifest import splits
from vtr_core.data.sources.annotated_videos import MsrvttVideos

PRESET = "hybrid-msrvtt-published"


def videos(data: Path, work: Path) -> Sets:
    """Whole videos, split by video as the ridge's are; a vocabulary and concepts of the training captions alone."""
    flags = IngestFlags(
        out=str(work / "videos"),
        splits=SHARES,
        tokenizer="alphanumeric",
        min_count=5,
        max_words=32,
        videos_per_shard=64,
        workers=0,
    )
    return _made(data, flags, None)


def thesis_videos(data: Path, work: Path, *, pos: bool) -> Sets:
    """The same videos with words and concepts as the thesis has them, and given word vectors.

    The vectors are of captions, none of them of a validation or test video, in place of those of Flickr's tags. pos:
    words and concepts have their part of speech, by the tagger that comes with the package.
    """
    vectors = work / "caption_vectors.txt"
    if not vectors.exists():
        text = allowed_text(msrvtt(data), 0)
        work.mkdir(parents=True, exist_ok=True)
        write_glove(caption_vectors([*text.train, *text.more]), vectors)
    asking = f"{PRESET}-pos" if pos else PRESET
    flags = IngestFlags(
        out=str(work / f"thesis{'-pos' if pos else ''}"),
        splits=SHARES,
        preset=asking,
        tagger="default" if pos else None,
        word_vectors=str(vectors),
        videos_per_shard=64,
        workers=0,
    )
    return _made(data, flags, asking)


def _made(data: Path, flags: IngestFlags, preset: str | None) -> Sets:
    """The splits of the data set, made where they are not there yet; preset: what its concepts are to fit."""
    if not splits(flags.out):
        folder = data / "msrvtt"
        source = MsrvttVideos(annotations=str(folder / "annotations"), feature_folder=str(folder / "features"))
        ingest(source, flags)
    table = Path(flags.out) / "concepts"
    if not (table / CONCEPTS).exists():
        concepts(ConceptFlags((flags.out,), preset=preset, num_concepts=512))
    made = splits(flags.out)
    return Sets(made["train"], made["val"], made["test"], str(table))
