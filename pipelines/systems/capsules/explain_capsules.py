"""`vtr explain CHECKPOINT --capsules`: a page on what each capsule of a trained model responds to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from pipelines.arguments import check_counts, parse, print_help, wants_help, written_as_json
from pipelines.systems.registry import SYSTEMS

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.data.shards.thumbnails import Thumbnail
    from vtr_core.systems.capsules.activation_report import ReadDataset
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
    min_videos: int = 5
    """Minimum number of videos whose captions mention a word, for it to be a concept."""
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
    from vtr_core.storage import check_writable, locate
    from vtr_core.systems.capsules.activation_report import activation_report, render_page
    from vtr_core.train.checkpoint.trained_model import read_model

    check_counts("vtr explain", top=flags.top, min_videos=flags.min_videos)
    out = locate(flags.out)
    check_writable(out)
    manifests = [usable(uri, require_clips) for uri in flags.data]

    loaded = read_model(flags.checkpoint, SYSTEMS, device())
    head = loaded.uri, loaded.config.preset, loaded.progress.step
    report = activation_report(*head, _read(loaded, manifests), flags.top, flags.min_videos)
    page = render_page(report, [_frames(report, place, own) for place, own in enumerate(manifests)])
    storage.write_bytes(out / PAGE, page.encode())
    storage.write_json(out / VALUES, report)
    _print(report, (out / PAGE).uri)
    print_link(out / PAGE)

    def write(run: "TrackedRun") -> None:
        run.log_params({"checkpoint": loaded.uri, "data": [own.uri for own in manifests], **report["options"]})
        for manifest in manifests:
            run.log_input(manifest, "explaining")
        run.log_json(VALUES, report)
        run.log_text(PAGE, page)

    log_run(flags.experiment, "explain", loaded, [dataset["name"] for dataset in report["datasets"]], write)
    return report


def _read(loaded: "LoadedModel", manifests: "Sequence[Manifest]") -> "list[ReadDataset]":
    """The activations on every data set; ConfigError for a model without capsules."""
    from pipelines.evaluate.evaluation_flags import short_names
    from vtr_core.embedding.embedded_rows import check_features
    from vtr_core.systems.capsules.activation_report import MAX_CLIPS, ReadDataset
    from vtr_core.systems.capsules.activations import capsule_model, read_activations

    config, model = loaded.config, capsule_model(loaded.model, loaded.config.model.kind)
    features, batch_rows = config.model.inputs.features, config.evaluation.batch_rows
    for manifest in manifests:
        check_features(manifest, features)
    datasets = []
    for name, own in zip(short_names(manifests), manifests, strict=True):
        read = read_activations(model, features, own, loaded.vocabulary, max_clips=MAX_CLIPS, batch_rows=batch_rows)
        invented = own.source.get("adapter") == "synthetic"
        datasets.append(ReadDataset(name, own.uri, own.fingerprint, invented, read))
    return datasets


def _frames(report: dict[str, Any], place: int, manifest: "Manifest") -> "Mapping[str, Thumbnail]":
    """The thumbnails of the shown clips of one data set, as far as it has them."""
    from vtr_core.data.shards.thumbnails import Thumbnails

    parts = [part for capsule in report["capsules"] for part in capsule["modalities"]]
    cells = [cell for part in parts for cell in part["cells"] if cell["dataset"] == place]
    return Thumbnails(manifest).find(clip["clip_id"] for cell in cells for clip in cell["clips"])


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
