"""What capsules respond to: words and strongest clips of each, as plain values and as one HTML page; to queries."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vtr_core.analysis.concept_profiles import (
    ConceptProfiles,
    capsule_usage,
    clip_concepts,
    concept_profiles,
    concept_words,
)
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.shards.thumbnails import Thumbnail
from vtr_core.embedding.embedded_rows import caption_columns, evaluating, with_absent
from vtr_core.nn.embeddings import TEXT
from vtr_core.page_templates import page_environment
from vtr_core.systems.capsules.activations import (
    CapsuleModel,
    ClipActivations,
    described_groups,
    read_activations,
    row_activations,
)
from vtr_core.systems.loaded_model import Responses, TrainedModel, Units
from vtr_core.time_span import clock

ACTIVE_SHARE = 0.1
"""Share of clips on which a capsule counts as active: those with its highest activations."""
FALSE_DISCOVERIES = 0.05
"""False discovery rate among the words of a capsule (Benjamini and Hochberg)."""
MIN_VIDEOS = 5
"""Videos whose captions mention a word, for it to be a concept."""
MAX_CLIPS = 100_000
"""Clips sampled of a data set, for words and strongest clips."""
SHOWN_WORDS, SHOWN_CAPTIONS = 8, 3
_YOUTUBE_ID = re.compile("[A-Za-z0-9_-]{10}[AEIMQUYcgkosw048]")  # 11 characters of 6 bits, the last one of 4


@dataclass(frozen=True)
class ReadDataset:
    """The name, location and activations of a data set."""

    name: str
    uri: str
    fingerprint: str
    invented: bool
    """Whether the data set is synthetic: video ids are then never linked to YouTube."""
    read: ClipActivations


def activation_report(
    checkpoint: str, preset: str, step: int, datasets: Sequence[ReadDataset], top: int, min_videos: int = MIN_VIDEOS
) -> dict[str, Any]:
    """The words and the `top` strongest clips of each capsule, by modality and data set (the paper's Figure 4)."""
    cells: dict[str, list[list[dict[str, Any]]]] = {}
    summaries = []
    for number, dataset in enumerate(datasets):
        read, modalities = dataset.read, []
        for name in read.known:
            own = _cells(number, dataset, name, top, min_videos)
            cells.setdefault(name, []).append(own)
            modalities.append({"modality": name, **_summary(read, name, own)})
        summaries.append(
            {
                "name": dataset.name,
                "uri": dataset.uri,
                "fingerprint": dataset.fingerprint,
                "num_clips": read.num_clips,
                "sampled_clips": len(read.clips["clip_id"]),
                "absent": read.absent,
                "modalities": modalities,
            }
        )
    order = [name for name in datasets[0].read.activations if name in cells]
    num_capsules = len(cells[order[0]][0])
    capsules = [
        {
            "number": number,
            "modalities": [{"modality": name, "cells": [own[number] for own in cells[name]]} for name in order],
        }
        for number in range(num_capsules)
    ]
    head = {"checkpoint": checkpoint, "preset": preset, "step": step, "num_capsules": num_capsules}
    return {**head, "options": {"top": top, "min_videos": min_videos}, "datasets": summaries, "capsules": capsules}


def _summary(read: ClipActivations, modality: str, cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows, values = read.of(modality)
    return {
        "clips": len(rows),
        "entropy": capsule_usage(values).entropy,
        "max_entropy": math.log2(values.shape[1]),
        "dead": sum(cell["dead"] for cell in cells) / len(cells),
        "named_capsules": sum(bool(cell["concepts"]) for cell in cells),
    }


def _profiles(read: ClipActivations, modality: str, min_videos: int) -> ConceptProfiles:
    """Which words go with each capsule, over the sampled clips that have the modality."""
    rows, values = read.of(modality)
    words = [concept_words(read.clips["captions"][row]) for row in rows]
    concepts = clip_concepts(words, read.clips["video_key"][rows], min_videos)
    return concept_profiles(values, concepts, ACTIVE_SHARE)


def _cells(number: int, dataset: ReadDataset, modality: str, top: int, min_videos: int) -> list[dict[str, Any]]:
    """Every capsule in one modality of one data set."""
    rows, values = dataset.read.of(modality)
    profiles, usage = _profiles(dataset.read, modality, min_videos), capsule_usage(values)
    cells = []
    for capsule in range(values.shape[1]):
        words = profiles.strongest(capsule, FALSE_DISCOVERIES)[:SHOWN_WORDS]
        strongest = np.argsort(-values[:, capsule], kind="stable")[:top]
        cells.append(
            {
                "dataset": number,
                "mean": float(usage.mean[capsule]),
                "deviation": float(usage.deviation[capsule]),
                "led": float(usage.led[capsule] / len(rows)),
                "dead": bool(usage.dead[capsule]),
                "concepts": [_concept(profiles, word, capsule) for word in words],
                "clips": [_clip(dataset, int(rows[i]), float(values[i, capsule])) for i in strongest],
            }
        )
    return cells


def _concept(profiles: ConceptProfiles, word: int, capsule: int) -> dict[str, Any]:
    tested = {name: float(getattr(profiles, name)[word, capsule]) for name in ("lift", "p", "q")}
    bits = float(profiles.information[word, capsule])
    return {"word": profiles.words[word], "bits": bits, **tested, "clips": int(profiles.mentions[word])}


def _clip(dataset: ReadDataset, row: int, activation: float) -> dict[str, Any]:
    clips = dataset.read.clips
    video, start = str(clips["video_id"][row]), float(clips["start"][row])
    captions = tuple(dict.fromkeys(clips["captions"][row]))
    return {
        "clip_id": str(clips["clip_id"][row]),
        "video_id": video,
        "start": start,
        "end": float(clips["end"][row]),
        "activation": activation,
        "captions": captions[:SHOWN_CAPTIONS],
        "youtube": None if dataset.invented else youtube_link(video, start),
    }


def youtube_link(video_id: str, start: float) -> str | None:
    """The address of a YouTube video at second ⌊start⌋; None unless the id is 64 bits in URL-safe base64."""
    if not _YOUTUBE_ID.fullmatch(video_id):
        return None
    return f"https://www.youtube.com/watch?v={video_id}&t={int(max(0.0, start))}s"


def render_page(report: Mapping[str, Any], thumbnails: Sequence[Mapping[str, Thumbnail]] = ()) -> str:
    """The report as HTML. All text from data sets is escaped: names, ids and captions are arbitrary strings.

    thumbnails: available thumbnails per data set, by clip id.
    """
    environment = page_environment("vtr_core.systems.capsules")
    environment.filters["clock"] = clock
    by_clip = {(place, clip): own[clip] for place, own in enumerate(thumbnails) for clip in own}
    pictures = {key: {"number": number, "href": by_clip[key].href} for number, key in enumerate(by_clip)}
    return environment.get_template("activations.html").render(report=report, pictures=pictures)


def responses(
    loaded: TrainedModel, manifest: Manifest, texts: Sequence[str], item_ids: Collection[str]
) -> Responses | None:
    """The activations of texts and clips over their means on the data set; None for a baseline without capsules, and
    where the model knows no word of any caption.

    A capsule's name is its number and, where there is one, the word that it goes with most on this data set, as on the
    page of `vtr explain --capsules`. Reads the data set twice. CheckpointError for activations that are not finite.
    """
    model, config = loaded.model, loaded.config
    if not isinstance(model, CapsuleModel):
        return None
    features, batch_rows = config.model.inputs.features, config.evaluation.batch_rows
    read = read_activations(model, features, manifest, loaded.vocabulary, max_clips=MAX_CLIPS, batch_rows=batch_rows)
    if TEXT in read.absent:
        return None
    means = {name: np.maximum(read.of(name)[1].mean(axis=0), np.finfo(np.float32).tiny) for name in read.known}
    with evaluating(model):
        columns = with_absent(caption_columns(loaded.vocabulary, texts, config.model.inputs.max_words), features)
        of_texts, _ = row_activations(model, columns, features, batch_rows)[TEXT]
        items = {
            item: {name: (values / means[name]).astype(np.float32) for name, values in parts.items()}
            for item, parts in _item_activations(loaded, model, manifest, item_ids)
        }
    names = {name: _names(_profiles(read, name, MIN_VIDEOS)) for name in read.known}
    return Responses(names, (of_texts / means[TEXT]).astype(np.float32), items)


def _names(profiles: ConceptProfiles) -> tuple[str, ...]:
    strongest = [profiles.strongest(n, FALSE_DISCOVERIES)[:1] for n in range(profiles.q.shape[1])]
    return tuple(" ".join([str(n), *(profiles.words[word] for word in words)]) for n, words in enumerate(strongest))


def _item_activations(
    loaded: TrainedModel, model: CapsuleModel, manifest: Manifest, item_ids: Collection[str]
) -> Iterator[tuple[str, dict[str, Units]]]:
    """The activations of the chosen clips, of the modalities beside text that each has."""
    features, batch_rows = loaded.config.model.inputs.features, loaded.config.evaluation.batch_rows
    for columns in described_groups(manifest, loaded.vocabulary, features, row_groups(manifest)):
        clips, first = np.unique(columns["clip_id"].astype(str), return_index=True)  # rows of a clip differ in captions
        rows = np.sort(first[np.isin(clips, list(item_ids))])
        if not len(rows):
            continue
        chosen = {name: array[rows] for name, array in columns.items()}
        activations = row_activations(model, chosen, features, batch_rows)
        for row, clip_id in enumerate(chosen["clip_id"]):
            yield str(clip_id), {n: values[row] for n, (values, has) in activations.items() if n != TEXT and has[row]}
