"""MSR-VTT-800 as whole videos, split by video, with and without parts of speech in words and concepts."""

from pathlib import Path

from benchmarks.msrvtt_ridge import SHARES
from vtr_core.data.manifest import splits
from vtr_core.systems.dual.tables.measure import Sets


def videos(data: Path, work: Path) -> Sets:
    """Whole videos, split by video as the ridge's are; a vocabulary and concepts of the training captions alone."""
    return _made(data, work / "videos", pos=False)


def tagged_videos(data: Path, work: Path) -> Sets:
    """The same videos; words and concepts have their part of speech, by the tagger that comes with the package."""
    return _made(data, work / "videos-pos", pos=True)


def _made(data: Path, folder: Path, *, pos: bool) -> Sets:
    from pipelines.concepts.command import ConceptFlags, concepts
    from pipelines.ingest.command import IngestFlags, ingest
    from vtr_core.data.sources.msrvtt.msrvtt import MsrvttVideos

    made = splits(str(folder))
    if not made:
        source = MsrvttVideos(
            annotations=str(data / "msrvtt" / "annotations"), feature_folder=str(data / "msrvtt" / "features")
        )
        flags = IngestFlags(
            out=str(folder),
            splits=SHARES,
            tokenizer="alphanumeric",
            min_count=5,
            max_words=32,
            tagger="default" if pos else None,
            videos_per_shard=64,
        )
        ingest(source, flags)
        made = splits(str(folder))
        concepts(ConceptFlags((str(folder),), num_concepts=512, pos=pos))
    return Sets(made["train"], made["val"], made["test"], str(folder / "concepts"))
