"""The documents' commands in the order of the site: which a test runs as they stand, and why others are not."""

from docs.make.navigation import documents
from tests.cluster.quoted_commands import in_document

NOT_WALKED = {
    "hf:": "a model of the hub; tests/encoders, tests/pipelines/index",
    "s3://": "somebody's bucket; tests/s3 and tests/integration/test_tables.py have data of their own",
    "submit": "a cluster; tests/integration/test_submit.py",
    "--help": "its output is tests/command_lines.txt",
    "extract": "tests/distribution/test_video_commands.py runs the section's commands",
    "serve --index": "serves until it is ended; tests/serving and tests/browser",
    "muse-msrvtt --data": "the published size; muse-tokens-tiny is run",
    "data/objects": "the same",
    "siamese --faces": "47 trainings; tests/integration/test_siamese.py makes one of its tables",
    "siamese --lfw": "120 trainings; tests/integration/test_siamese.py makes one round of it",
    "sweep": "several trainings that are killed; tests/integration/test_sweep.py",
    "runs/dual runs/other": "a second model; tests/pipelines/explain/test_queries.py",
    "routing-none": "the same",
    "runs/no-routing": "the same",
    "--queries ambiguous": "no made-up word is several parts of speech; tests/pipelines/evaluate/test_dual_spaces.py",
    "--keep-columns": "columns of one's own; tests/data/sources/test_pairs.py",
    "--backend ivf-pq": "a model that compares by cosine; tests/retrieval/index/test_candidates.py",
    "--shards 2": "more items than the walk has; tests/retrieval/index/test_index.py",
    "--add": "a second data set; tests/retrieval/index/test_change.py",
    "--delete": "names of somebody's videos; tests/retrieval/index/test_change.py",
    "import clip4clip": "a published checkpoint; tests/pipelines/systems/clip4clip/commands/test_import_clip4clip.py",
    "runs/clip-published": "the same",
    "clip4clip": "clips with pictures; tests/crossing",
    "runs/clip ": "the same",
    "runs/clip-index": "the same",
    "muse-clip": "the same",
    "hub:": "somebody's account; tests/storage/test_hub.py",
    "import weights": "a published file; tests/backbones/test_script_archive.py",
    "import lavender": "a published file; tests/pipelines/systems/captioning/commands/test_lavender.py",
    "caption-swin": "clips with pictures; tests/crossing",
    "ingest captions": "a table of one's own; tests/data/sources/test_captions.py",
    "caption-pretrain": "a second training; tests/systems/captioning/test_model.py",
    "runs/captions-begun": "the same",
    "import hybrid_space": "a published checkpoint; tests/pipelines/systems/dual/commands/test_hybrid_space.py",
    "--init runs/first": "a data set with other features; tests/train/checkpoint/test_initial.py",
    "films.csv": "a second table; tests/data/sources/test_pairs.py",
    "tgif": "a published data set; tests/fuzz/worlds.py has its layout",
    "features/msrvtt": "published annotations and features; tests/fuzz/worlds.py has their layout",
    "features/youcook2": "the same",
    "data/msrvtt ": "published features; tests/pipelines/systems/dual/tables, tests/pipelines/analyze",
    "hybrid-0": "the same",
    "word2vec": "published features; tests/data/sources/bigfile",
    "demo=data/demo/test": "dozens of trainings; tests/integration/test_tables.py",
}
"""What a command holds that no walk runs, and why."""


def elsewhere(words: list[str]) -> str | None:
    """What of NOT_WALKED the command holds."""
    return next((part for part in NOT_WALKED if part in " ".join(words)), None)


QUOTED = [words for file in documents() for words in in_document(file.read_text())]
WALKED = [list(words) for words in dict.fromkeys(map(tuple, QUOTED)) if not elsewhere(list(words))]
"""A command that several pages give is run once, where the first has it."""
