"""Examples of the commands, as their help shows them; every one is read by its own parser in a test."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "": (
        "vtr ingest pairs --table clips.csv --feature-columns video audio --out data/mine",
        "vtr train capsule-howto-tiny --data data/mine --out runs/first",
        "vtr evaluate runs/first --data data/mine/val",
    ),
    "analyze": (
        "vtr analyze causality runs/dual --data data/described/val --test data/described/test --out analysis",
        "vtr analyze information data/described --out information",
    ),
    "caption": ("vtr caption runs/captions --data data/described/test --out captions",),
    "completion": ("vtr completion bash > ~/.local/share/bash-completion/completions/vtr",),
    "concepts": ("vtr concepts data/described",),
    "data": (
        "vtr data list data",
        "vtr data show data/mine/val --rows 5",
        "vtr data check data/mine/train",
        "vtr data statistics data/mine/train --json",
    ),
    "demo": ("vtr demo", "vtr demo --videos"),
    "doctor": ("vtr doctor", "vtr doctor --model capsule-howto --data data/mine"),
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
    "runs": (
        "vtr runs list",
        "vtr runs show runs/first",
        "vtr runs compare runs/first runs/second --json",
        "vtr runs delete runs/second",
    ),
    "search": ('vtr search "a man cooks rice" --index index --json',),
    "submit": ("vtr submit -- train capsule-howto-tiny --data data/mine",),
    "sweep": (
        "vtr sweep capsule-howto-tiny --data data/mine --num-samples 12 --out runs/sweep",
        "vtr sweep --resume runs/sweep",
    ),
    "tables": ("vtr tables capsules", "vtr tables capsules --synthetic --only 3 5"),
    "train": (
        "vtr train capsule-howto-tiny --data data/mine --out runs/first",
        "vtr train capsule-howto --data data/mine --scaling.workers 8 --loss.kind info_nce --loss.temperature 0.05",
        "vtr train --resume runs/first",
    ),
    "verify": ("vtr verify runs/faces a.pgm b.pgm",),
}
"""By command; "" for all of them together."""
