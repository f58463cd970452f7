"""The flags of `vtr extract`."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import tyro

from vtr_core.video.decoders import AskedDecoder


@dataclass(frozen=True)
class ExtractFlags:
    """Flags of `vtr extract`."""

    videos: Annotated[str, tyro.conf.Positional]
    """Folder or URI of video files, quoted glob, list of paths (.txt), or table with a column video."""
    out: str
    """Output folder or URI; with splits, one data set per split is written below it."""
    captions: str | None = None
    """Table with the columns id, caption, video and optionally start, end (seconds), split, video_id; or subtitles, for
    .srt and .vtt files beside the videos; or msrvtt, msrvtt-1k-a, msvd, didemo, activitynet (a paragraph per video),
    lsmdc, youcook2, howto100m, with --annotations."""
    recipe: tuple[str, ...] = ("imagenet-lite", "log-mel")
    """Recipes or pretrained encoders that compute the features, such as bundled or hf:openai/clip-vit-base-patch32;
    tokens:<encoder> keeps all tokens of a frame. vtr extract --list describes them."""
    remote_code: bool = False
    """Run the code that an encoder's repository brings, which can do whatever you can; read it first."""
    keep_columns: tuple[str, ...] = ()
    """Columns of the table of captions to keep as text, which vtr index lists with every item (--records clips)."""
    annotations: str | None = None
    """Published annotation files of that data set, as for vtr ingest; videos are found by id."""
    weights: dict[str, str] = field(default_factory=dict)
    """Weight files by recipe, for instance: --weights howto-2d resnet152.pth."""
    records: Literal["clips", "videos", "frames"] = "clips"
    """What a row is. clips: a clip and a caption, features pooled over time; videos: a whole video, with all feature
    rows; frames: a clip with its frames, for models that begin with pixels."""
    frame_rate: float = 1.0
    """With --records frames: frames per second."""
    frames: int | None = None
    """With --records frames: maximum number of frames of a clip, evenly spaced (default: all)."""
    frame_size: int = 224
    """With --records frames: width and height in pixels; the centre of the frame is kept."""
    frame_format: Literal["jpeg", "raw"] = "jpeg"
    """With --records frames: JPEG, or raw pixels, which take about ten times the space and need no decoding."""
    frame_quality: int = 90
    """With --records frames: JPEG quality, from 1 to 100."""
    thumbnails: bool = False
    """Also keep a small image of each clip or video, from its middle, for result and explanation pages."""
    thumbnail_size: int = 192
    """Longer side of a thumbnail in pixels."""
    pool: Literal["max", "mean", "mean_std"] = "mean_std"
    """How the feature rows of a clip are pooled."""
    normalise: bool = True
    """Scale the pooled vector to unit length, but of an encoder's rows; --no-normalise: do not scale it."""
    anywhere: bool = False
    """Allow absolute paths and URIs in tables and lists."""
    features_only: bool = False
    """Write .npy files (<out>/<recipe>/<video>.npy) instead of a data set; needs no captions."""
    keep_features: str | None = None
    """Also write .npy files of whole videos to this folder or URI."""
    splits: dict[str, float] = field(default_factory=dict)
    """Split randomly by video, for instance: --splits train .8 val .1 test .1 (default: the table's splits)."""
    split_seed: int = 0
    """Random seed of the split and of the order of videos."""
    word_vectors: str | None = None
    """word2vec (binary or text) or GloVe file, or BigFile folder (feature.bin, shape.txt, id.txt); without it, word
    vectors are trained with the model."""
    vocabulary: str | None = None
    """Use the vocabulary and word vectors of this data set instead; data sets that are trained on together or are in
    one index have one vocabulary."""
    min_count: int = 1
    """Minimum number of occurrences of a vocabulary word (without --word-vectors)."""
    max_words: int | None = None
    """Captions are cut after this number of words (default: 20, or as many as those of the data set of
    --vocabulary)."""
    videos_per_shard: int | None = None
    """Videos per Parquet file (default: 128, with --records frames 16); an interrupted extraction resumes with the
    unfinished shards."""
    strict: bool = False
    """Fail where a row would be dropped."""
    workers: int | None = None
    """0: in this process, without Ray, on all cores. Otherwise a Ray Data job on the whole cluster."""
    gpus_per_network: float = 1.0
    """GPUs per copy of the backbones, where the cluster has any; 0 computes on CPUs."""
    decoder: AskedDecoder = "auto"
    """Decoder of pictures; torchcodec also on GPUs. auto: torchcodec where it loads, and PyAV elsewhere."""
    seconds: float = 300.0
    """A video is dropped if its decoder returns no frame for this many seconds."""
    decoder_bytes: int = 4 * 2**30
    """A video is dropped if decoding it takes more memory than this."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""
