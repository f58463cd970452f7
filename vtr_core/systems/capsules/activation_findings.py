"""What capsules respond to: the findings of the activation report, and responses to queries."""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from vtr_core.analysis.concept_profiles import Agreement, ConceptProfiles, agreement, clip_concepts, concept_profiles
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.embedding.embedded_rows import caption_columns, evaluating, with_absent
from vtr_core.nn.embeddings import TEXT
from vtr_core.systems.capsules.activation_report import (
    MAX_CAPTIONS,
    ActivationReport,
    Capsule,
    CapsuleModality,
    Cell,
    Concept,
    DatasetSummary,
    ModalitySummary,
    PairAgreement,
    ReportOptions,
    ShownClip,
)
from vtr_core.systems.capsules.activations import (
    CapsuleModel,
    Clip,
    DatasetActivations,
    ModalityActivations,
    captions_by_activation,
    described_groups,
    read_activations,
    row_activations,
)
from vtr_core.systems.loaded_model import Responses, TrainedModel, Units

_YOUTUBE_ID = re.compile("[A-Za-z0-9_-]{10}[AEIMQUYcgkosw048]")  # 11 characters of 6 bits, the last one of 4


@dataclass(frozen=True)
class ReadDataset:
    """The name, location and activations of a data set."""

    name: str
    uri: str
    fingerprint: str
    invented: bool
    """Whether the data set is synthetic: video ids are then never linked to YouTube."""
    activations: DatasetActivations


def activation_report(
    checkpoint: str, preset: str, step: int, datasets: Sequence[ReadDataset], options: ReportOptions
) -> ActivationReport:
    """The report on one model, from the activations read from one or more data sets."""
    profiles = [
        {name: _profiles(dataset.activations, part, options) for name, part in dataset.activations.modalities.items()}
        for dataset in datasets
    ]
    modalities = list(dict.fromkeys(name for found in profiles for name in found))
    num_capsules = max(len(part.usage.mean) for d in datasets for part in d.activations.modalities.values())
    return ActivationReport(
        checkpoint=checkpoint,
        preset=preset,
        step=step,
        num_capsules=num_capsules,
        options=options,
        datasets=tuple(_summary(d, found, options) for d, found in zip(datasets, profiles, strict=True)),
        capsules=tuple(
            Capsule(number, tuple(_modality(name, number, datasets, profiles, options) for name in modalities))
            for number in range(num_capsules)
        ),
        agreement=tuple(
            _pair(name, i, j, agreement(profiles[i][name], profiles[j][name]))
            for name in modalities
            for i in range(len(datasets))
            for j in range(i + 1, len(datasets))
            if name in profiles[i] and name in profiles[j]
        ),
    )


def _profiles(dataset: DatasetActivations, part: ModalityActivations, options: ReportOptions) -> ConceptProfiles:
    """Activation profiles over the sampled clips that have the modality, of which there may be none."""
    kept = np.flatnonzero(part.present)
    words = [dataset.words[i] for i in kept]
    concepts = clip_concepts(words, dataset.video_key[kept], options.min_videos)
    return concept_profiles(part.activations[kept], concepts, options.active_share)


def _summary(dataset: ReadDataset, profiles: dict[str, ConceptProfiles], options: ReportOptions) -> DatasetSummary:
    return DatasetSummary(
        name=dataset.name,
        uri=dataset.uri,
        fingerprint=dataset.fingerprint,
        num_clips=dataset.activations.num_clips,
        absent=dataset.activations.absent,
        modalities=tuple(
            _modality_summary(name, part, profiles[name], options)
            for name, part in dataset.activations.modalities.items()
        ),
    )


def _modality_summary(
    name: str, part: ModalityActivations, profiles: ConceptProfiles, options: ReportOptions
) -> ModalitySummary:
    capsules = len(part.usage.mean)
    significant = (profiles.q <= options.false_discoveries) & (profiles.lift > 1)
    return ModalitySummary(
        modality=name,
        clips=part.usage.clips,
        sampled_clips=profiles.clips,
        tested_concepts=len(profiles.words),
        entropy=part.usage.entropy,
        max_entropy=math.log2(capsules),
        flat=float(part.usage.flat.mean()),
        dead=float(part.usage.dead.mean()),
        named_capsules=int(significant.any(axis=0).sum()),
    )


def _modality(
    name: str,
    capsule: int,
    datasets: Sequence[ReadDataset],
    profiles: Sequence[dict[str, ConceptProfiles]],
    options: ReportOptions,
) -> CapsuleModality:
    cells = [
        _cell(position, name, capsule, dataset, found[name], options)
        for position, (dataset, found) in enumerate(zip(datasets, profiles, strict=True))
        if name in found
    ]
    return CapsuleModality(name, tuple(cells))


def _cell(
    position: int,
    name: str,
    capsule: int,
    dataset: ReadDataset,
    profiles: ConceptProfiles,
    options: ReportOptions,
) -> Cell:
    read = dataset.activations
    part = read.modalities[name]

    def concepts(with_it: bool) -> tuple[Concept, ...]:
        found = profiles.strongest(capsule, options.false_discoveries, with_it)[: options.concepts]
        return tuple(_concept(profiles, word, capsule) for word in found)

    return Cell(
        dataset=position,
        mean=float(part.usage.mean[capsule]),
        deviation=float(part.usage.deviation[capsule]),
        led=float(part.usage.led[capsule] / part.usage.clips),
        flat=bool(part.usage.flat[capsule]),
        concepts=concepts(True),
        against=concepts(False),
        clips=tuple(
            _shown(read.clips[number], name, capsule, value, not dataset.invented)
            for number, value in part.top.of(capsule)
        ),
    )


def _concept(profiles: ConceptProfiles, word: int, capsule: int) -> Concept:
    return Concept(
        word=profiles.words[word],
        bits=float(profiles.information[word, capsule]),
        lift=float(profiles.lift[word, capsule]),
        p=float(profiles.p[word, capsule]),
        q=float(profiles.q[word, capsule]),
        clips=int(profiles.named[word]),
    )


def _shown(clip: Clip, modality: str, capsule: int, activation: float, may_link: bool) -> ShownClip:
    """The clip with its first captions; for the text modality with the captions of highest activation."""
    ordered = captions_by_activation(clip, capsule) if modality == TEXT else clip
    captions = tuple(dict.fromkeys(ordered.captions))
    return ShownClip(
        clip_id=clip.clip_id,
        video_id=clip.video_id,
        start=clip.start,
        end=clip.end,
        activation=activation,
        captions=captions[:MAX_CAPTIONS],
        num_captions=len(captions),
        youtube=youtube_link(clip.video_id, clip.start) if may_link else None,
    )


def youtube_link(video_id: str, start: float) -> str | None:
    """The address of a YouTube video at second ⌊start⌋; None unless the id is 64 bits in URL-safe base64."""
    if not _YOUTUBE_ID.fullmatch(video_id):
        return None
    return f"https://www.youtube.com/watch?v={video_id}&t={int(max(0.0, start))}s"


def _pair(modality: str, first: int, second: int, found: Agreement) -> PairAgreement:
    return PairAgreement(
        modality=modality,
        first=first,
        second=second,
        shared_words=found.shared_words,
        mean_same=found.mean_same,
        mean_other=found.mean_other,
        recognised=found.recognised,
        same=tuple(value if math.isfinite(value) else None for value in found.same.tolist()),
    )


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
        shown = dict(_responses_shown(loaded, model, manifest, item_ids))
    items = {one: {name: _over(values, means[name]) for name, values in parts.items()} for one, parts in shown.items()}
    return Responses(_names(manifest, read, options), _over(asked, means[TEXT]), items)


def _responses_shown(
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
