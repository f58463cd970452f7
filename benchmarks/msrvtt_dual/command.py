"""The dual encoders of the thesis's Table 5.3 on held-out MSR-VTT videos, and what training for causality adds.

Everything goes through the product: ingest, `vtr concepts`, `vtr train` with three seeds each, `vtr analyze causality`.
Ridge regression on the same split stands beside them. Run from the repository:

    python -m benchmarks.msrvtt_dual --data ../shared/data
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.comparison.ridge import selected
from benchmarks.machine import processor, versions
from benchmarks.msrvtt_dual.page import markdown
from benchmarks.msrvtt_ridge import SHARES, allowed_text, msrvtt, prepare, ridge
from pipelines.arguments import parse
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest, splits
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.systems.dual.tables.measure import Sets, measure

EXPERIMENT = "msrvtt-dual"
_SPACES = ("latent", "concept", "two spaces")
"""Ways of scoring that the page has under another name where there are concepts."""
RESULTS = Path(__file__).parent.parent / "results"
SMALLER: Mapping[str, object] = {
    "model.inputs.word_dim": 128,
    "model.video.hidden_dim": 64,
    "model.video.num_filters": 64,
    "model.text.hidden_dim": 64,
    "model.text.num_filters": 64,
    "batch.videos": 64,
    "optimizer.learning_rate": 3e-3,
    "optimizer.schedule": "cosine",
    "optimizer.epoch_decay": 1.0,
    "optimizer.plateau_patience": None,
    "training.epochs": 75,
    "training.validate_every": 5,
    "training.patience": None,
    "training.precision": "float32",
    "scaling.workers": 1,
}
"""What some 500 videos and two cores allow: encoders an eighth as wide. The spaces keep their published dimensions."""


@dataclass(frozen=True)
class Row:
    """One way of training: a preset and what is changed in it beside `SMALLER`."""

    preset: str
    changes: Mapping[str, object]


SLOWER: Mapping[str, object] = {"optimizer.learning_rate": 1e-3}
"""Where a cosine is trained: at the rate that suits probabilities it falls apart, on the validation videos too."""
ROWS: Mapping[str, Row] = {
    "hybrid 1536 + 512": Row("hybrid-msrvtt", SLOWER),
    "latent 2048": Row("hybrid-msrvtt-latent", SLOWER),
    "Jaccard 512": Row("hybrid-msrvtt-concept", {}),
    "Jaccard 256": Row("hybrid-msrvtt-concept-256", {}),
    "cosine 512": Row("hybrid-msrvtt-cosine", SLOWER),
    "cosine 256": Row("hybrid-msrvtt-cosine-256", SLOWER),
    "Jaccard 512, prior .02, causality 10": Row(
        "hybrid-msrvtt-concept", {"model.concept_prior": 0.02, "loss.causality_weight": 10.0}
    ),
    "Jaccard 512, detection × 8": Row("hybrid-msrvtt-concept", {"loss.concept_weight_factor": 8.0}),
    "Jaccard 512, detection × 8, prior .1, causality 5": Row("hybrid-msrvtt-causal", {}),
}


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, and what to train how often."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations and msrvtt/features."""
    work: str = "runs/msrvtt-dual"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    seeds: int = 3
    """Trainings of every row."""
    only: tuple[str, ...] = ()
    """Rows to train (default: all); the page needs all of them and is written when none is left out."""


def main(argv: Sequence[str]) -> None:
    """Run what is missing; with all rows print the page and write it to benchmarks/results."""
    flags = parse(Flags, argv, "python -m benchmarks.msrvtt_dual")
    work = Path(flags.work)
    sets = videos(Path(flags.data), work)
    chosen = flags.only or tuple(ROWS)
    found = {
        name: [
            run(ROWS[name], sets, work / name.replace(" ", "_") / f"seed-{seed}", seed) for seed in range(flags.seeds)
        ]
        for name in chosen
    }
    if flags.only:
        return
    figures = {
        "videos": {name: Manifest.load(uri).videos for name, uri in asdict(sets).items() if name != "concepts"},
        "rows": found,
        "ridge": _ridge(Path(flags.data), work),
        "settings": {name: value for name, value in SMALLER.items() if name != "scaling.workers"},
        "seeds": flags.seeds,
        "machine": processor(),
        "versions": versions("torch", "ray", "numpy"),
        "command": "python -m benchmarks.msrvtt_dual --data ../shared/data",
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "msrvtt_dual.json").write_text(json.dumps(figures, indent=1) + "\n")
    page = markdown(figures)
    (RESULTS / "msrvtt_dual.md").write_text(page)
    print(page)


def videos(data: Path, work: Path) -> Sets:
    """Whole videos, split by video as the ridge's are; a vocabulary and concepts of the training captions alone."""
    from pipelines.concepts.command import ConceptFlags, concepts
    from pipelines.ingest.command import ingest
    from pipelines.ingest.flags import IngestFlags
    from vtr_core.data.sources.msrvtt.msrvtt import MsrvttVideos

    folder = work / "videos"
    made = splits(str(folder))
    if not made:
        source = MsrvttVideos(
            annotations=str(data / "msrvtt" / "annotations"), feature_folder=str(data / "msrvtt" / "features")
        )
        ingest(
            source,
            IngestFlags(
                out=str(folder), splits=SHARES, tokenizer="alphanumeric", min_count=5, max_words=32, videos_per_shard=64
            ),
        )
        made = splits(str(folder))
        concepts(ConceptFlags((str(folder),), num_concepts=512))
    return Sets(made["train"], made["val"], made["test"], str(folder / "concepts"))


def configuration(row: Row, seed: int) -> TrainConfig:
    """The preset of a row at this benchmark's size."""
    return override(preset(row.preset), {**SMALLER, **row.changes, "seed": seed})


def run(row: Row, sets: Sets, folder: Path, seed: int) -> dict[str, Any]:
    """Train, choose the checkpoint by validation, and analyse it; what was done before is read again."""
    done = folder / "figures.json"
    if not done.exists():
        config = configuration(row, seed)
        figures = measure(_train(config, sets, folder), sets, detectors=False)
        figures["scored"] = {way: values for way, values in figures["scored"].items() if way not in _SPACES} or figures[
            "scored"
        ]
        done.write_text(json.dumps(figures))
    found: dict[str, Any] = json.loads(done.read_text())
    return found


def _train(config: TrainConfig, sets: Sets, folder: Path) -> str:
    from pipelines.train.command import TrainFlags, resume, train

    if (folder / "run.json").exists():
        return resume(str(folder)).checkpoint
    flags = TrainFlags(
        data=sets.train, validation=sets.val, out=str(folder), experiment=EXPERIMENT, concepts=sets.concepts
    )
    return train(config, flags).checkpoint


def _ridge(data: Path, work: Path) -> dict[str, float]:
    """The better of the baseline's two texts, chosen by validation."""
    source = msrvtt(data)
    text = allowed_text(source, 0)
    folder = work / "clips"
    made = splits(str(folder / "data"))
    sets = {name: Manifest.load(uri) for name, uri in made.items()} or prepare(source, text, folder, 0)
    best = max((selected(fits) for fits in ridge(sets, text).values()), key=lambda fit: fit.validation["r10"])
    return best.test
