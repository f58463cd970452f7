"""Flags of `vtr ingest` that all sources have."""

from dataclasses import dataclass, field
from typing import Literal

from vtr_core.config.caption_text import Tokenizer, UnknownWords

Records = Literal["clips", "videos"]


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
    """Captions are cut after this number of words; longest: none is cut (default: 20, or as many as those of the data
    set of --vocabulary)."""
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
