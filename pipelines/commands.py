"""The table of commands: name, module and summary of each, and the examples that its help shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "": (
        "vtr index videos --out found",
        'vtr search "a puppy" --index found',
        "vtr extract videos --captions films.csv --recipe bundled --splits train .8 val .1 test .1 --out data/own",
        "vtr train adapter --data data/own --out runs/own",
        "vtr evaluate runs/own --data data/own/test",
    ),
    "analyze": (
        "vtr analyze causality runs/dual --data data/described/val --test data/described/test --out analysis",
        "vtr analyze information data/described --out information",
    ),
    "caption": ("vtr caption runs/captions --data data/described/test --out captions",),
    "concepts": ("vtr concepts data/described",),
    "data": (
        "vtr data show data/mine/val --rows 5",
        "vtr data check data/mine/train",
    ),
    "demo": ("vtr demo",),
    "doctor": ("vtr doctor", "vtr doctor --json"),
    "evaluate": (
        "vtr evaluate runs/first --data data/mine/val",
        "vtr evaluate models:/vtr-mine@champion --data data/mine/test --similarity all --out figures.json",
        "vtr evaluate runs/first --task localization --data data/crosstask",
    ),
    "explain": (
        "vtr explain runs/first --capsules --data data/mine/val --out page",
        'vtr explain runs/dual --data data/described/test --query "a dog runs" --out why',
    ),
    "encoders": ("vtr encoders",),
    "extract": (
        "vtr extract videos --captions clips.csv --splits train .8 val .1 test .1 --out data/mine",
        "vtr extract videos --features-only --out features",
        "vtr extract videos --recipe hf:openai/clip-vit-base-patch32 --features-only --out features",
        "vtr extract --list",
    ),
    "index": (
        "vtr index videos --out found",
        "vtr index runs/dual --data data/described/test --out index",
    ),
    "ingest": (
        "vtr ingest pairs --table clips.csv --feature-columns video audio --out data/mine",
        "vtr ingest synthetic --out data/demo --num-clips 2000 --splits train .8 val .1 test .1",
        "vtr ingest msrvtt --help --records videos",
    ),
    "runs": ("vtr runs list",),
    "search": ('vtr search "a man cooks rice" --index index --json',),
    "submit": ("vtr submit -- train capsule-howto-tiny --data data/mine",),
    "sweep": (
        "vtr sweep capsule-howto-tiny --data data/mine --num-samples 12 --out runs/sweep",
        "vtr sweep --resume runs/sweep",
    ),
    "tables": (
        "vtr tables capsules",
        "vtr tables capsules --preset capsule-howto-tiny --data data/demo --test demo=data/demo/test --only 3",
    ),
    "train": (
        "vtr train capsule-howto-tiny --data data/mine --out runs/first",
        "vtr train capsule-howto --data data/mine --scaling.workers 8 --loss.kind info_nce --loss.temperature 0.05",
        "vtr train --resume runs/first",
    ),
    "verify": ("vtr verify runs/faces a.pgm b.pgm",),
}
"""By command; "" for all of them together."""


_HEAD = """\
vtr: distributed training for video-text retrieval on Ray

usage: vtr <command> [flags]      vtr <command> --help      vtr --version      vtr --quiet <command> [flags]
"""
_GROUPS = {
    "train": ("train", "evaluate", "sweep", "runs"),
    "data": ("ingest", "extract", "encoders", "concepts", "tagger", "data"),
    "use a model": ("embed", "index", "search", "serve", "export", "import", "caption", "verify"),
    "understand a model": ("explain", "analyze", "tables"),
    "machines": ("doctor", "submit", "demo"),
}
"""The commands by what they are for, the most used first."""


HELP_WORDS = ("-h", "--help", "--help-all")
"""What asks for help; `--help-all` for all settings of a preset, where a command has presets."""


@dataclass(frozen=True)
class Command:
    """A command of `vtr`: the function `main` of pipelines.<name>, or of `command` in the folder of that name."""

    name: str
    summary: str
    """Lines of the help."""


COMMANDS = (
    Command("extract", "features of video files by named backbones, as Parquet shards; --list describes the recipes"),
    Command("encoders", "pretrained encoders of text and frames: what there is, what each needs, what is here; --json"),
    Command("ingest", "precomputed features and annotations, as Parquet shards with a manifest"),
    Command("concepts", "concept vocabulary of captions and soft labels of videos, for models with a concept space"),
    Command("tagger", "accuracy of a part-of-speech tagger for vtr concepts"),
    Command("train", "train a preset on a data set with any number of Ray workers; --resume continues a run"),
    Command("sweep", "hyperparameter search with Ray Tune; the best checkpoint is registered"),
    Command(
        "evaluate", "metrics of a checkpoint on data sets: --task retrieval, localization, verification, captioning"
    ),
    Command("caption", "generate captions for the videos of a data set: JSON lines, and a page of examples"),
    Command(
        "analyze",
        "a dual encoder's concepts (causality) and spaces (complementarity); the information content of captions",
    ),
    Command(
        "explain",
        "a page: the concepts that each capsule responds to, or why videos were found for a query",
    ),
    Command("embed", "embeddings, captions or concepts of a data set as Parquet shards; a Ray Data job, resumable"),
    Command("index", "a folder of videos, or a data set's, made searchable; videos need no captions"),
    Command("search", "rank the videos of an index for a text query, or for a file of topics"),
    Command("serve", "search of an index in the browser and over HTTP, on one machine or on Ray Serve"),
    Command("export", "a trained model for others: safetensors, configuration, model card; to a folder or the hub"),
    Command("import", "convert a published checkpoint of another project to one of vtr"),
    Command("verify", "decide whether two images show the same face, with a Siamese network"),
    Command("tables", "reproduce a paper's tables: published metrics beside ours"),
    Command("runs", "the runs and sweeps in a folder: state, how far, best validation; --json"),
    Command("data", "a data set: show rows, check every page; --json"),
    Command("submit", "run any of these commands as a job on a Ray cluster: vtr submit -- train <preset> --data URI"),
    Command("doctor", "check packages, hardware and services on this machine, with remedies; --json"),
    Command("demo", "the whole pipeline on rendered films, in minutes on a laptop"),
)


def help_text() -> str:
    """The text of `vtr --help`."""
    grouped = [name for names in _GROUPS.values() for name in names]
    ungrouped = tuple(command.name for command in COMMANDS if command.name not in grouped)
    parts = [_group(title, names) for title, names in {**_GROUPS, "others": ungrouped}.items()]
    return _HEAD + "".join(parts) + examples_text("")


def _group(title: str, names: Sequence[str]) -> str:
    """The lines of those commands that there are; nothing without any."""
    lines = [
        f"  {command.name:11}" + command.summary.replace("\n", "\n" + " " * 13)
        for name in names
        for command in COMMANDS
        if command.name == name
    ]
    return "\n".join(["", f"{title}:", *lines, ""]) if lines else ""


def examples_text(name: str) -> str:
    """Examples of a command, or of all together for ""; nothing where there are none."""
    lines = EXAMPLES.get(name, ())
    return "\n".join(["", "examples:", *(f"  {line}" for line in lines), ""]) if lines else ""
