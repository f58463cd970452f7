"""How the capsules of a model respond to queries and to the clips that were found for them (Figures 3, 5 and 6)."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from jaxtyping import Float32

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.nn.embeddings import TEXT
from vtr_core.retrieval.embed.clips import caption_columns, with_absent
from vtr_core.retrieval.embed.evaluating import evaluating
from vtr_core.systems.capsules.activations.findings import ReadDataset, activation_report
from vtr_core.systems.capsules.activations.read import (
    CapsuleModel,
    DatasetActivations,
    described_groups,
    read_activations,
    row_activations,
)
from vtr_core.systems.capsules.activations.report import CapsuleModality, ReportOptions
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.responses import Responses, Units


def responses(
    loaded: TrainedModel, manifest: Manifest, texts: Sequence[str], item_ids: Collection[str]
) -> Responses | None:
    """The activations of texts and clips over their means on the data set; None for a baseline without capsules, and
    where the model knows no word of any caption.

    A capsule's name is its number and, where there is one, the word that it goes with most on this data set, as on the
    page of `vtr explain --capsules`. Reads the data set twice. CheckpointError for activations that are not finite.
    """
    model, config, options = loaded.model, loaded.config, ReportOptions(top=1, concepts=1)
    if not isinstance(model, CapsuleModel):
        return None
    features, batch_rows = config.model.inputs.features, config.evaluation.batch_rows
    read = read_activations(
        model,
        features,
        manifest,
        loaded.vocabulary,
        places=options.top,
        max_clips=options.max_rows,
        batch_rows=batch_rows,
        seed=options.seed,
    )
    if TEXT not in read.modalities:
        return None
    means = {name: np.maximum(part.usage.mean, np.finfo(np.float32).tiny) for name, part in read.modalities.items()}
    with evaluating(model):
        columns = with_absent(caption_columns(loaded.vocabulary, texts, config.model.inputs.max_words), features)
        asked, _ = row_activations(model, columns, features, batch_rows)[TEXT]
        shown = dict(_shown(loaded, model, manifest, item_ids))
    items = {one: {name: _over(values, means[name]) for name, values in parts.items()} for one, parts in shown.items()}
    return Responses(_names(manifest, read, options), _over(asked, means[TEXT]), items)


def _shown(
    loaded: TrainedModel, model: CapsuleModel, manifest: Manifest, item_ids: Collection[str]
) -> Iterator[tuple[str, dict[str, Units]]]:
    """The activations of the wanted clips, of the modalities beside text that each has."""
    features, batch_rows = loaded.config.model.inputs.features, loaded.config.evaluation.batch_rows
    for columns in described_groups(manifest, loaded.vocabulary, features, row_groups(manifest)):
        first = _first_rows(columns["clip_id"], item_ids)
        if not len(first):
            continue
        chosen = {name: array[first] for name, array in columns.items()}
        seen = row_activations(model, chosen, features, batch_rows)
        for row, clip_id in enumerate(chosen["clip_id"]):
            yield str(clip_id), {n: values[row] for n, (values, has) in seen.items() if n != TEXT and has[row]}


def _first_rows(clip_id: np.ndarray, wanted: Collection[str]) -> np.ndarray:
    """The first row of every wanted clip: its rows differ in captions alone."""
    known, first = np.unique(clip_id.astype(str), return_index=True)
    return np.sort(first[np.isin(known, list(wanted))])


def _over(values: Float32[np.ndarray, "*_ capsules"], mean: np.ndarray) -> Float32[np.ndarray, "*_ capsules"]:
    return (values / mean).astype(np.float32)


def _names(manifest: Manifest, read: DatasetActivations, options: ReportOptions) -> dict[str, tuple[str, ...]]:
    dataset = ReadDataset("", manifest.uri, manifest.fingerprint, invented=True, activations=read)
    report = activation_report("", "", 0, [dataset], options)
    parts = [(capsule.number, part) for capsule in report.capsules for part in capsule.modalities]
    return {
        modality: tuple(_name(number, part) for number, part in parts if part.modality == modality)
        for modality in read.modalities
    }


def _name(number: int, part: CapsuleModality) -> str:
    return f"{number} {part.strongest.word}" if part.strongest else str(number)
