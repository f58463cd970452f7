"""Builds the capsule activation report from the activations read from one or more data sets."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vtr_core.analysis.activations.agreement import Agreement, agreement
from vtr_core.analysis.activations.concepts import clip_concepts
from vtr_core.analysis.activations.profiles import ConceptProfiles, concept_profiles
from vtr_core.nn.embeddings import TEXT
from vtr_core.systems.capsules.activations.read import (
    Clip,
    DatasetActivations,
    ModalityActivations,
    captions_by_activation,
)
from vtr_core.systems.capsules.activations.report import (
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
