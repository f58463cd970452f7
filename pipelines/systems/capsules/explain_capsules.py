"""`vtr explain CHECKPOINT --capsules`: a page on what each capsule of a trained model responds to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from pipelines.arguments import parse, print_help, wants_help, written_as_json
from pipelines.systems.registry import SYSTEMS

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.data.shards.thumbnails import Thumbnail
    from vtr_core.systems.capsules.activation_report import ReportOptions
    from vtr_core.tracking.run import TrackedRun
    from vtr_core.train.checkpoint.trained_model import LoadedModel


PAGE, VALUES = "activations.html", "activations.json"


@dataclass(frozen=True)
class ExplainFlags:
    """Flags of `vtr explain CHECKPOINT --capsules`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: tuple[str, ...]
    """One or more data sets."""
    out: str
    """Output folder of activations.html and activations.json; existing files are replaced."""
    capsules: bool = False
    """Show the clips and the concepts that each capsule responds to."""
    top: int = 4
    """Clips shown per capsule, modality and data set."""
    active_share: float = 0.1
    """Share of clips on which a capsule counts as active: those with its highest activations."""
    min_videos: int = 5
    """Minimum number of videos whose captions mention a word, for it to be a concept."""
    concepts: int = 8
    """Maximum number of concepts shown per capsule."""
    false_discoveries: float = 0.05
    """False discovery rate among the concepts shown (Benjamini and Hochberg)."""
    max_rows: int = 100_000
    """Clips sampled per data set, for concepts and top clips."""
    seed: int = 0
    """Random seed of that sample."""

    experiment: str = "vtr"
    """MLflow experiment."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print_help("vtr explain", ExplainFlags)
        return
    flags = parse(ExplainFlags, argv, "vtr explain")
    with written_as_json(flags.json, flags.out, PAGE, VALUES):
        explain(flags)


def explain(flags: ExplainFlags) -> dict[str, Any]:
    """Computes the report on all data sets, writes it as HTML and JSON, and logs both as a run of the experiment."""
    from pipelines.evaluate.evaluation_flags import device
    from pipelines.report.figures import print_link
    from pipelines.report.logged_run import log_run
    from vtr_core import storage
    from vtr_core.data.records.schema import require_clips
    from vtr_core.data.shards.shard_file import usable
    from vtr_core.embedding.embedded_rows import check_features
    from vtr_core.storage import check_writable, locate
    from vtr_core.systems.capsules.activation_report import ReportOptions, render_page
    from vtr_core.systems.capsules.activations import capsule_model
    from vtr_core.train.checkpoint.trained_model import read_model

    options = ReportOptions(**{option.name: getattr(flags, option.name) for option in fields(ReportOptions)})
    check_writable(locate(flags.out))
    manifests = [usable(uri, require_clips) for uri in flags.data]

    loaded = read_model(flags.checkpoint, SYSTEMS, device())
    capsule_model(loaded.model, loaded.config.model.kind)
    for manifest in manifests:
        check_features(manifest, loaded.config.model.inputs.features)
    report = _report(loaded, manifests, options)
    frames = [_frames(report, place, manifest) for place, manifest in enumerate(manifests)]
    page = render_page(report, frames)
    out = locate(flags.out)
    storage.write_bytes(out / PAGE, page.encode())
    storage.write_json(out / VALUES, report)
    _print(report, (out / PAGE).uri)
    print_link(out / PAGE)
    names = [dataset["name"] for dataset in report["datasets"]]
    log_run(flags.experiment, "explain", loaded, names, lambda run: _log_report(run, manifests, report, page))
    return report


def _frames(report: dict[str, Any], place: int, manifest: "Manifest") -> "Mapping[str, Thumbnail]":
    """The thumbnails of the shown clips of one data set, as far as it has them."""
    from vtr_core.data.shards.thumbnails import Thumbnails

    parts = [part for capsule in report["capsules"] for part in capsule["modalities"]]
    cells = [cell for part in parts for cell in part["cells"] if cell["dataset"] == place]
    return Thumbnails(manifest).find(clip["clip_id"] for cell in cells for clip in cell["clips"])


def _report(loaded: "LoadedModel", manifests: "Sequence[Manifest]", options: "ReportOptions") -> dict[str, Any]:
    from pipelines.evaluate.evaluation_flags import short_names
    from vtr_core.systems.capsules.activation_report import ReadDataset, activation_report
    from vtr_core.systems.capsules.activations import capsule_model, read_activations

    config = loaded.config
    read = []
    for name, manifest in zip(short_names(manifests), manifests, strict=True):
        activations = read_activations(
            capsule_model(loaded.model, config.model.kind),
            config.model.inputs.features,
            manifest,
            loaded.vocabulary,
            max_clips=options.max_rows,
            batch_rows=config.evaluation.batch_rows,
            seed=options.seed,
        )
        invented = manifest.source.get("adapter") == "synthetic"
        read.append(ReadDataset(name, manifest.uri, manifest.fingerprint, invented, activations))
    return activation_report(loaded.uri, config.preset, loaded.progress.step, read, options)


def _print(report: Mapping[str, Any], page: str) -> None:
    for dataset in report["datasets"]:
        for part in dataset["modalities"]:
            print(
                f"{dataset['name']}, {part['modality']}: {part['named_capsules']} of {report['num_capsules']} capsules "
                f"go with a word, {100 * part['dead']:.0f} % are dead, "
                f"a clip's entropy {part['entropy']:.2f} of {part['max_entropy']:.2f} bits"
            )
        for modality in dataset["absent"]:
            print(f"{dataset['name']}: no clip has {modality}")
    print(f"page        {page}")


def _log_report(tracked: "TrackedRun", manifests: "Sequence[Manifest]", report: dict[str, Any], page: str) -> None:
    data = [manifest.uri for manifest in manifests]
    tracked.log_params({"checkpoint": report["checkpoint"], "data": data, **report["options"]})
    for manifest in manifests:
        tracked.log_input(manifest, "explaining")
    tracked.log_json(VALUES, dict(report))
    tracked.log_text(PAGE, page)
